// Where the console is: beside the API of a server, and on this machine for any server.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { closeBrowser, open, place, startBridge, startWorld } from './world.mjs';

let server;
let world;

before(async () => {
  world = await startWorld();
  ({ server } = world);
});
after(async () => {
  await closeBrowser();
  await world?.stop();
});

describe('the console of any server, on this machine', () => {
  test('the link opens it, and the token of the server is not in the browser', async () => {
    const bridge = await startBridge(server);
    const tab = await open({ url: bridge.url, token: server.token }, new URL(bridge.link).hash, { signedIn: false });
    await tab.page.getByRole('link', { name: 'billing' }).click();
    await tab.page.getByRole('grid').waitFor();
    const kept = await tab.page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.documentElement.outerHTML]));
    assert.ok(!kept.includes(server.token));
    await tab.close();
    await bridge.stop();
  });

  test('what only reads offers nothing else', async () => {
    const bridge = await startBridge(server, '--read-only');
    const tab = await open({ url: bridge.url, token: null }, new URL(bridge.link).hash, { signedIn: false });
    await tab.page.getByRole('link', { name: 'billing' }).waitFor();
    await tab.page.getByRole('button', { name: 'New collection' }).waitFor({ state: 'detached' });
    await tab.page.goto(`${bridge.url}/console/${place('job', 'billing', 'odd')}`);
    await tab.page.getByText('Every day at').first().waitFor();
    assert.equal(await tab.page.getByRole('button', { name: 'Run now' }).count(), 0);
    assert.equal(await tab.page.getByRole('link', { name: 'Edit' }).count(), 0);
    await tab.close();
    await bridge.stop();
  });
});

