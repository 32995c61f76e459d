//! The files of the console, as `make console` wrote them. Do not edit.

use crate::File;

pub(crate) static FILES: [File; 5] = [
    File {
        name: "app.2f8b7175c14f.css",
        bytes: include_bytes!("../dist/app.2f8b7175c14f.css"),
        gzip: include_bytes!("../dist/app.2f8b7175c14f.css.gz"),
        content_type: "text/css; charset=utf-8",
        etag: "\"2f8b7175c14fa76b701a8867f6a486dc\"",
        is_hashed: true,
    },
    File {
        name: "app.c947f2f03a2b.js",
        bytes: include_bytes!("../dist/app.c947f2f03a2b.js"),
        gzip: include_bytes!("../dist/app.c947f2f03a2b.js.gz"),
        content_type: "text/javascript; charset=utf-8",
        etag: "\"c947f2f03a2b0a5e40119487ace48d32\"",
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
        etag: "\"b021819b74aaae533e229fff282dff50\"",
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
