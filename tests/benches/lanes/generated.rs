//! The messages of the corpus as generated code has them: prost's structs, and serialisation as pbjson-build writes it.
//! Never complete: the branches that the corpus does not send are left out, which only makes it quicker.

use serde::ser::{Serialize, SerializeStruct, Serializer};

#[derive(Clone, PartialEq, prost::Message)]
pub struct AgentServerMessage {
    #[prost(oneof = "Message", tags = "1, 3, 4")]
    pub message: Option<Message>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Message {
    #[prost(message, tag = "1")]
    InteractionUpdate(InteractionUpdate),
    #[prost(message, tag = "3")]
    ConversationCheckpointUpdate(Checkpoint),
    #[prost(message, tag = "4")]
    KvServerMessage(KvServerMessage),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct InteractionUpdate {
    #[prost(oneof = "Update", tags = "1, 13")]
    pub update: Option<Update>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Update {
    #[prost(message, tag = "1")]
    TextDelta(TextDelta),
    #[prost(message, tag = "13")]
    Heartbeat(Heartbeat),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TextDelta {
    #[prost(string, tag = "1")]
    pub text: String,
    #[prost(bool, tag = "2")]
    pub is_server_notice: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Heartbeat {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Checkpoint {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub root_prompt_messages_json: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "8")]
    pub turns: Vec<Vec<u8>>,
    #[prost(string, repeated, tag = "9")]
    pub previous_workspace_uris: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KvServerMessage {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(message, optional, tag = "3")]
    pub set_blob_args: Option<SetBlobArgs>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SetBlobArgs {
    #[prost(bytes = "vec", tag = "1")]
    pub blob_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub blob_data: Vec<u8>,
}

fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

impl Serialize for AgentServerMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object =
            serializer.serialize_struct("AgentServerMessage", usize::from(self.message.is_some()))?;
        match &self.message {
            Some(Message::InteractionUpdate(v)) => object.serialize_field("interaction_update", v)?,
            Some(Message::ConversationCheckpointUpdate(v)) => {
                object.serialize_field("conversation_checkpoint_update", v)?;
            }
            Some(Message::KvServerMessage(v)) => object.serialize_field("kv_server_message", v)?,
            None => {}
        }
        object.end()
    }
}

impl Serialize for InteractionUpdate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object =
            serializer.serialize_struct("InteractionUpdate", usize::from(self.update.is_some()))?;
        match &self.update {
            Some(Update::TextDelta(v)) => object.serialize_field("text_delta", v)?,
            Some(Update::Heartbeat(v)) => object.serialize_field("heartbeat", v)?,
            None => {}
        }
        object.end()
    }
}

impl Serialize for TextDelta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = usize::from(!self.text.is_empty()) + usize::from(self.is_server_notice);
        let mut object = serializer.serialize_struct("TextDelta", length)?;
        if !self.text.is_empty() {
            object.serialize_field("text", &self.text)?;
        }
        if self.is_server_notice {
            object.serialize_field("is_server_notice", &self.is_server_notice)?;
        }
        object.end()
    }
}

impl Serialize for Heartbeat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_struct("Heartbeat", 0)?.end()
    }
}

impl Serialize for Checkpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Checkpoint", 3)?;
        let text = |list: &[Vec<u8>]| list.iter().map(|b| base64(b)).collect::<Vec<_>>();
        if !self.root_prompt_messages_json.is_empty() {
            object.serialize_field("root_prompt_messages_json", &text(&self.root_prompt_messages_json))?;
        }
        if !self.turns.is_empty() {
            object.serialize_field("turns", &text(&self.turns))?;
        }
        if !self.previous_workspace_uris.is_empty() {
            object.serialize_field("previous_workspace_uris", &self.previous_workspace_uris)?;
        }
        object.end()
    }
}

impl Serialize for KvServerMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("KvServerMessage", 2)?;
        if self.id != 0 {
            object.serialize_field("id", &self.id)?;
        }
        if let Some(v) = &self.set_blob_args {
            object.serialize_field("set_blob_args", v)?;
        }
        object.end()
    }
}

impl Serialize for SetBlobArgs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("SetBlobArgs", 2)?;
        if !self.blob_id.is_empty() {
            object.serialize_field("blob_id", &base64(&self.blob_id))?;
        }
        if !self.blob_data.is_empty() {
            object.serialize_field("blob_data", &base64(&self.blob_data))?;
        }
        object.end()
    }
}
