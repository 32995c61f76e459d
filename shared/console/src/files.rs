//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 6] = [
    File {
        name: "app.a7f126d85265.css",
        bytes: include_bytes!("../dist/app.a7f126d85265.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"a7f126d85265ea7bf4721441682193d4\"",
        is_hashed: true,
    },
    File {
        name: "app.e8b3c61f764e.js",
        bytes: include_bytes!("../dist/app.e8b3c61f764e.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"e8b3c61f764e9194be1aef07fd2c291f\"",
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
        etag: "\"8a25a53495402cd2470237aa7b9dfbb3\"",
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
