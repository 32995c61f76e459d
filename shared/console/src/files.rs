//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.519b7dc00b42.css",
        bytes: include_bytes!("../dist/app.519b7dc00b42.css"),
        gzip: include_bytes!("../dist/app.519b7dc00b42.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"519b7dc00b4249accab4251c07419bb5\"",
        is_hashed: true,
    },
    File {
        name: "app.be57fa67ba85.js",
        bytes: include_bytes!("../dist/app.be57fa67ba85.js"),
        gzip: include_bytes!("../dist/app.be57fa67ba85.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"be57fa67ba858aad48eb7de82297332f\"",
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
        etag: "\"45116fb99b4812200559b7f848e616a3\"",
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
