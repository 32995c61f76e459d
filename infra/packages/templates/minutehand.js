#!/usr/bin/env node
// Runs the binary of the package for this machine, which npm has installed beside this one.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const name = `minutehand-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/minutehand`);
} catch {
  console.error(`error: the package ${name} is not installed: install minutehand again, with optional ` +
    'dependencies; if there is no such package, minutehand does not run on this machine');
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
// The server ends in good order after the first of these, and so does this process when it has ended.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`error: cannot run ${binary}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
