use std::path::{Path, PathBuf};

use super::*;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases").join(name)
}

fn roots(dirs: &[PathBuf]) -> Sources {
    Sources { roots: dirs.to_vec(), ..Sources::default() }
}

/// Loads and checks that the error holds every word.
fn check_error(sources: &Sources, words: &[&str]) {
    let error = load(sources).map(|l| l.warnings).unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} not in {error:?}");
    }
}

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn missing_import_names_its_place_and_the_roots() {
    let dir = case("35-import-missing/proto");
    let named = Sources { protos: vec![dir.join("main.proto")], ..roots(std::slice::from_ref(&dir)) };
    for sources in [named, roots(&[dir])] {
        check_error(&sources, &["main.proto:4:8", "lib/missing.proto", "35-import-missing/proto"]);
    }
}

#[test]
fn cycles_are_named_in_full() {
    check_error(
        &roots(&[case("36-import-cycle/bad")]),
        &["a.proto -> b.proto -> c.proto -> a.proto", "c.proto:"],
    );
    check_error(&roots(&[case("36-import-cycle/bad-self")]), &["s.proto imports itself"]);
    let good = load(&roots(&[case("36-import-cycle/good")])).unwrap();
    assert!(good.warnings.is_empty() && good.schema.type_by_name("rec.Tree").is_some());
}

#[test]
fn one_file_by_two_roots_is_one_file() {
    let dir = case("37-duplicate-definitions/roots");
    let sources = roots(&[dir.clone(), dir.join("common")]);
    let loaded = load(&sources).unwrap();
    assert!(loaded.warnings.is_empty());
    assert!(loaded.schema.type_by_name("dup.M").is_some());
    let protos = vec![dir.join("common/common.proto"), dir.join("svc.proto")];
    assert!(load(&Sources { protos, ..sources }).is_ok());
    let dir = case("37-duplicate-definitions/samefile");
    assert!(load(&roots(&[dir.join("a"), dir.join("b")])).is_ok());
}

#[test]
fn a_clash_names_both_places() {
    let dir = case("37-duplicate-definitions/clash");
    check_error(&roots(&[dir]), &["clash.T", "two.proto:3:9", "one.proto:3:9"]);
}

#[test]
fn found_files_that_fail_are_warnings_and_named_ones_errors() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "good.proto", "\u{feff}syntax = \"proto3\"; message Good { string s = 1; }");
    write(dir.path(), "sub/bad.proto", "syntax = \"proto3\";\nmessage Bad { strng s = 1; }");
    write(dir.path(), "uses.proto", "syntax = \"proto3\"; import \"sub/bad.proto\"; message Uses {}");
    let found = load(&roots(&[dir.path().into()])).unwrap();
    assert!(found.schema.type_by_name("Good").is_some() && found.schema.type_by_name("Uses").is_none());
    let warnings: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("bad.proto:2:15") && warnings[1].contains("uses.proto"), "{warnings:?}");
    let named = Sources { protos: vec![dir.path().join("sub/bad.proto")], ..roots(&[dir.path().into()]) };
    check_error(&named, &["bad.proto:2:15", "strng"]);
    // Without a root the file brings its own folder.
    let alone = Sources { protos: vec![dir.path().join("good.proto")], ..Sources::default() };
    assert!(load(&alone).unwrap().schema.type_by_name("Good").is_some());
}

#[test]
fn syntax_errors_carry_their_text() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "bad.proto", "syntax = \"proto3\";\nmessage M {\n  int32 n 1;\n}\n");
    let error = load(&roots(&[dir.path().into()])).unwrap_err();
    assert_eq!(error.place, Some((3, 11)));
    let (text, span) = (error.source_text.clone().unwrap(), error.span.clone().unwrap());
    assert_eq!(&text[span], "1");
    write(dir.path(), "bad.proto", "// words\nedition = \"2525\";\nmessage M {}\n");
    check_error(&roots(&[dir.path().into()]), &["bad.proto:2:1", "edition \"2525\"", "2024"]);
    write(dir.path(), "bad.proto", "syntax = \"proto3\"; message A {} message A {}");
    check_error(&roots(&[dir.path().into()]), &["bad.proto:1:", "'A'"]);
}

#[test]
fn missing_options_may_be_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let text = "syntax = \"proto3\"; package p; import \"google/api/annotations.proto\";\n\
                message M { string s = 1 [(x.y) = true, debug_redact = true]; }\n\
                service S { rpc Get(M) returns (M) { option (google.api.http) = { get: \"/v1\" }; } }";
    write(dir.path(), "m.proto", text);
    let sources = roots(&[dir.path().into()]);
    check_error(&sources, &["google/api/annotations.proto"]);
    let loaded = load(&Sources { allow_missing_imports: true, ..sources }).unwrap();
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.schema.method("p.S/Get").is_some());
    let field = loaded.schema.field("p.M.s").unwrap();
    assert!(loaded.schema.field_plan(field).unwrap().annotation.secret, "debug_redact survives");
}

#[test]
fn empty_or_absent_roots() {
    let dir = tempfile::tempdir().unwrap();
    assert!(load(&roots(&[dir.path().into()])).unwrap().schema.is_empty());
    check_error(&roots(&[dir.path().join("none")]), &["none", "folder"]);
    let sources = Sources { protos: vec!["nowhere.proto".into()], ..Sources::default() };
    check_error(&sources, &["nowhere.proto"]);
}

#[test]
fn sixty_thousand_fields_load() {
    use std::fmt::Write as _;
    let dir = tempfile::tempdir().unwrap();
    for file in 0..50 {
        let mut text = format!("syntax = \"proto3\"; package huge.f{file};\n");
        if file > 0 {
            writeln!(text, "import \"f{}.proto\";", file - 1).unwrap();
        }
        for message in 0..100 {
            writeln!(text, "message M{message} {{").unwrap();
            (1..=12).for_each(|n| writeln!(text, "  M{} v{n} = {n};", (message + n) % 100).unwrap());
            text.push_str("}\n");
        }
        write(dir.path(), &format!("f{file}.proto"), &text);
    }
    let loaded = load(&roots(&[dir.path().into()])).unwrap();
    assert_eq!(loaded.schema.types().filter(|(_, t)| t.name.starts_with("huge.")).count(), 5_000);
}

#[test]
fn editions_as_text() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"
        package p;
        import "google/protobuf/cpp_features.proto";
        import option "google/protobuf/java_features.proto";
        option features = { enum_type: CLOSED repeated_field_encoding: EXPANDED };
        option features.(pb.cpp).string_type = VIEW;
        export message M {
            reserved gone, lost;
            extensions 100 to max;
            string s = 1 [default = "é\"];"];
            string quiet = 2 [features.field_presence = IMPLICIT, features.utf8_validation = NONE];
            int32 needed = 3 [features = { field_presence: LEGACY_REQUIRED }];
            repeated int32 apart = 4;
            repeated int32 run = 5 [features.repeated_field_encoding = PACKED];
            M sub = 6 [features.message_encoding = DELIMITED];
            map<string, M> map = 7 [features.message_encoding = DELIMITED];
            local enum Open { option features.enum_type = OPEN; ONE = 0; }
        }
        enum E { TWO = 2; }
        extend M { repeated E more = 100; }
    "#;
    for edition in ["2023", "2024"] {
        write(dir.path(), "e.proto", &format!("// words\nedition = \"{edition}\";{text}"));
        let loaded = load(&roots(&[dir.path().into()])).unwrap();
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        let schema = loaded.schema;
        let plan = |path: &str| schema.field_plan(schema.field(path).unwrap()).unwrap();
        let closed = |name: &str| schema.enum_plan(schema.enum_by_name(name).unwrap()).unwrap().closed;
        use crate::schema::Presence::{Explicit, Implicit, Required};
        assert_eq!(
            [plan("p.M.s").presence, plan("p.M.quiet").presence, plan("p.M.needed").presence],
            [Explicit, Implicit, Required]
        );
        assert!(plan("p.M.s").utf8 && !plan("p.M.quiet").utf8);
        assert!(!plan("p.M.apart").packed && plan("p.M.run").packed);
        assert!(plan("p.M.sub").delimited && !plan("p.M.map").delimited);
        assert!(closed("p.E") && !closed("p.M.Open"));
        assert!(!plan("p.M.[p.more]").packed);
    }
    let wrong = "edition = \"2023\";\noption features.enum_type = SHUT;\n";
    write(dir.path(), "e.proto", wrong);
    check_error(&roots(&[dir.path().into()]), &["e.proto", "SHUT", "enum_type"]);
    write(dir.path(), "e.proto", "edition = \"2023\";\nmessage M {\n  strng s = 1;\n}\n");
    check_error(&roots(&[dir.path().into()]), &["e.proto:3:3", "strng"]);
}
