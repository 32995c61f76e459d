//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 6] = [
    File {
        name: "app.40dbbdf51c3f.js",
        bytes: include_bytes!("../dist/app.40dbbdf51c3f.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"40dbbdf51c3fb344a579b53e811ae71e\"",
        is_hashed: true,
    },
    File {
        name: "app.61be3b833f6a.css",
        bytes: include_bytes!("../dist/app.61be3b833f6a.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"61be3b833f6a3ad7443a7b9cd01ef0a3\"",
        is_hashed: true,
    },
    File {
        name: "archivo.5f086eb58219.woff2",
        bytes: include_bytes!("../dist/archivo.5f086eb58219.woff2"),
        is_gzip: false,
        content_type: "font/woff2",
        etag: "\"5f086eb582194340166de62fee420fa9\"",
        is_hashed: true,
    },
    File {
        name: "index.html",
        bytes: include_bytes!("../dist/index.html"),
        is_gzip: false,
        content_type: "text/html; charset=utf-8",
        etag: "\"3a347607ae6928349809e02fb9f74dcc\"",
        is_hashed: false,
    },
    File {
        name: "jetbrains-mono.c4298fb38836.woff2",
        bytes: include_bytes!("../dist/jetbrains-mono.c4298fb38836.woff2"),
        is_gzip: false,
        content_type: "font/woff2",
        etag: "\"c4298fb38836609bc55d00022024490a\"",
        is_hashed: true,
    },
    File {
        name: "newsreader.27a104163850.woff2",
        bytes: include_bytes!("../dist/newsreader.27a104163850.woff2"),
        is_gzip: false,
        content_type: "font/woff2",
        etag: "\"27a1041638508a5afc0883172e6fa561\"",
        is_hashed: true,
    },
];
