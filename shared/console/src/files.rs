//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.8fab0d375232.js",
        bytes: include_bytes!("../dist/app.8fab0d375232.js"),
        gzip: include_bytes!("../dist/app.8fab0d375232.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"8fab0d3752325332ea71e36500862992\"",
        is_hashed: true,
    },
    File {
        name: "app.fbef62452073.css",
        bytes: include_bytes!("../dist/app.fbef62452073.css"),
        gzip: include_bytes!("../dist/app.fbef62452073.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"fbef624520736470672515dc180fd48f\"",
        is_hashed: true,
    },
    File {
        name: "archivo.5f086eb58219.woff2",
        bytes: include_bytes!("../dist/archivo.5f086eb58219.woff2"),
        gzip: &[],
        content_type: "font/woff2",
        etag: "\"5f086eb582194340166de62fee420fa9\"",
        is_hashed: true,
    },
    File {
        name: "index.html",
        bytes: include_bytes!("../dist/index.html"),
        gzip: include_bytes!("../dist/index.html.gz"),
        content_type: "text/html; charset=utf-8",
        etag: "\"a52bf1b112e6870795b58b2d55f79242\"",
        is_hashed: false,
    },
    File {
        name: "newsreader.27a104163850.woff2",
        bytes: include_bytes!("../dist/newsreader.27a104163850.woff2"),
        gzip: &[],
        content_type: "font/woff2",
        etag: "\"27a1041638508a5afc0883172e6fa561\"",
        is_hashed: true,
    },
];
