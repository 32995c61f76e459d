//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.1d6f2edcd628.css",
        bytes: include_bytes!("../dist/app.1d6f2edcd628.css.gz"),
        is_gzip: true,
        content_type: "text/css; charset=utf-8",
        etag: "\"1d6f2edcd6287270ed9c6d4161fc0a8a\"",
        is_hashed: true,
    },
    File {
        name: "app.eb7a813b6637.js",
        bytes: include_bytes!("../dist/app.eb7a813b6637.js.gz"),
        is_gzip: true,
        content_type: "text/javascript; charset=utf-8",
        etag: "\"eb7a813b6637fe5fa8d9438273a24874\"",
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
        etag: "\"920ce0d6b0dfffa01b8194e5145f61d1\"",
        is_hashed: false,
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
