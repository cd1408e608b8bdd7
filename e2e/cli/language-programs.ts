/** A folder of code with a small program that answers requests. */
export interface LanguageProgram {
  readonly language: 'Go' | 'Rust' | 'Java' | 'PHP' | 'Ruby';
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** The user with which its container runs. */
  readonly user: string;
  /** A file, the text in it that the program answers with, and another one. */
  readonly changes: readonly [file: string, from: string, to: string];
}

const goServer = (imports: string, word: string): string => `package main

import (
	"fmt"
	"net/http"
	"os"
${imports})

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "8088"
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, ${word}) })
	panic(http.ListenAndServe(":"+port, nil))
}
`;

const go: readonly Omit<LanguageProgram, 'language' | 'user'>[] = [
  {
    name: 'Go with vendored modules and several programs',
    files: {
      'go.mod': 'module example.org/acme/store/v2\n\ngo 1.24\n\nrequire example.org/greet v1.0.0\n',
      'go.sum': '',
      'gen.go': '//go:build ignore\n\npackage main\n\nfunc main() {}\n',
      'cmd/migrate/main.go': 'package main\n\nfunc main() {}\n',
      'cmd/stored/run.go': goServer('\n\t"example.org/greet"\n', 'greet.Word()'),
      'vendor/modules.txt': '# example.org/greet v1.0.0\n## explicit\nexample.org/greet\n',
      'vendor/example.org/greet/greet.go': 'package greet\n\nfunc Word() string { return "go one" }\n',
    },
    changes: ['vendor/example.org/greet/greet.go', 'go one', 'go two'],
  },
];

const rustServer = (word: string): string => `use std::io::{Read, Write};
use std::net::TcpListener;

fn main() {
    let port = std::env::var("PORT").unwrap_or_else(|_| "3131".to_string());
    let listener = TcpListener::bind(format!("0.0.0.0:{port}")).unwrap();
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let _ = stream.read(&mut [0; 1024]);
        let body = ${word};
        let _ = write!(stream, "HTTP/1.1 200 OK\\r\\nContent-Length: {}\\r\\nConnection: close\\r\\n\\r\\n{}", body.len(), body);
    }
}
`;
const cargo = (name: string, more = ''): string => `[package]\nname = "${name}"\nversion = "0.1.0"\nedition = "2021"\n${more}`;

const rust: typeof go = [
  {
    name: 'Rust with a library beside the program',
    files: {
      'Cargo.toml': cargo('my-shop'),
      'src/lib.rs': 'pub fn word() -> &\'static str { "rust one" }\n',
      'src/main.rs': rustServer('my_shop::word()'),
    },
    changes: ['src/lib.rs', 'rust one', 'rust two'],
  },
  {
    name: 'Rust workspace with vendored crates',
    files: {
      'Cargo.toml': '[workspace]\nresolver = "2"\nmembers = ["crates/*"]\n',
      '.cargo/config.toml': '[source.crates-io]\nreplace-with = "vendored"\n\n[source.vendored]\ndirectory = "vendor"\n',
      'crates/cli/Cargo.toml': cargo('cli'),
      'crates/cli/src/main.rs': 'fn main() {}\n',
      'crates/backend/Cargo.toml': cargo(
        'shop',
        '\n[dependencies]\ngreet = "1"\n\n[[bin]]\nname = "shopd"\npath = "src/main.rs"\n',
      ),
      'crates/backend/src/main.rs': rustServer('greet::word("rust one")'),
      'vendor/greet/Cargo.toml': cargo('greet').replace('0.1.0', '1.0.0'),
      'vendor/greet/src/lib.rs': 'pub fn word(text: &str) -> String { text.to_string() }\n',
      'vendor/greet/.cargo-checksum.json': '{"files":{},"package":null}',
    },
    changes: ['crates/backend/src/main.rs', 'rust one', 'rust two'],
  },
];

const javaServer = (name: string, word: string): string => `package com.example.shop;

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

public class ${name} {
    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "7171"));
        HttpServer server = HttpServer.create(new InetSocketAddress(port), 0);
        server.createContext("/", exchange -> {
            byte[] body = ${word}.getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
`;

const java: typeof go = [
  {
    name: 'Java with Maven and a library',
    files: {
      'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>shop</artifactId>
  <version>1.0-SNAPSHOT</version>
  <properties>
    <maven.compiler.source>21</maven.compiler.source>
    <maven.compiler.target>21</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.32</version>
    </dependency>
  </dependencies>
</project>
`,
      'src/main/java/com/example/shop/Main.java': javaServer('Main', 'org.slf4j.LoggerFactory.getLogger("java one").getName()'),
    },
    changes: ['src/main/java/com/example/shop/Main.java', 'java one', 'java two'],
  },
  {
    name: 'Java with a Gradle application',
    files: {
      'settings.gradle': "rootProject.name = 'shop'\n",
      'build.gradle':
        "plugins {\n    id 'java'\n    id 'application'\n}\n\nsourceCompatibility = '21'\nmainClassName = 'com.example.shop.Server'\n",
      'src/main/java/com/example/shop/Server.java': javaServer('Server', '"java one"'),
    },
    changes: ['src/main/java/com/example/shop/Server.java', 'java one', 'java two'],
  },
];

const php: typeof go = [
  {
    name: 'PHP with a page and a database',
    files: {
      'index.php':
        '<?php\nfunction db() { return new mysqli("db", "shop"); }\necho extension_loaded("mysqli") ? "php one" : "no mysqli";\n',
    },
    changes: ['index.php', 'php one', 'php two'],
  },
  {
    name: 'PHP with Composer and pages for all paths',
    files: {
      'composer.json': JSON.stringify({
        name: 'acme/shop',
        require: { php: '>=8.2', 'ext-intl': '*' },
        autoload: { 'psr-4': { 'Acme\\': 'src/' } },
        // The test reaches no packages.
        repositories: [{ 'packagist.org': false }],
      }),
      'src/Word.php': '<?php\nnamespace Acme;\nclass Word { static function get() { return "php one"; } }\n',
      'public/index.php':
        '<?php\nrequire __DIR__ . "/../vendor/autoload.php";\necho extension_loaded("intl") ? Acme\\Word::get() : "no intl";\n',
    },
    changes: ['src/Word.php', 'php one', 'php two'],
  },
];

const ruby: typeof go = [
  {
    name: 'Ruby with Sinatra and Puma',
    files: {
      Gemfile: 'source "https://rubygems.org"\n\nruby "~> 3.3"\n\ngem "sinatra"\ngem "puma"\ngem "rackup"\n',
      'config.ru': 'require "./app"\n\nrun Shop\n',
      'app.rb': 'require "sinatra/base"\n\nclass Shop < Sinatra::Base\n  get("/") { "ruby one" }\nend\n',
    },
    changes: ['app.rb', 'ruby one', 'ruby two'],
  },
];

const of = (language: LanguageProgram['language'], user: string, all: typeof go): LanguageProgram[] =>
  all.map((program) => ({ language, user, ...program }));

export const programs: readonly LanguageProgram[] = [
  ...of('Go', 'nobody', go),
  ...of('Rust', 'nobody', rust),
  ...of('Java', 'nobody', java),
  ...of('PHP', 'www-data', php),
  ...of('Ruby', 'app', ruby),
];
