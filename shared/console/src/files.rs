//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 6] = [
    File {
        name: "app.655f3da73354.js",
        bytes: include_bytes!("../dist/app.655f3da73354.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"655f3da73354f183b3588306130820ee\"",
        is_hashed: true,
    },
    File {
        name: "app.c2a76f58ebc8.css",
        bytes: include_bytes!("../dist/app.c2a76f58ebc8.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"c2a76f58ebc871f7a8e5192cd4e28b94\"",
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
        etag: "\"504b1af159517cb76752d96a60cdf6a5\"",
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
