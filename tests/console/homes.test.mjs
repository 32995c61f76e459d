// Where the console is: beside the API of a server, and on this machine for any server.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { defects, open, place, setUp, startBridge } from './world.mjs';

const { world } = setUp();

describe('the console of any server, on this machine', () => {
  test('the link opens it, and the token of the server is not in the browser', async () => {
    const bridge = await startBridge(world.server);
    const tab = await open({ url: bridge.url, token: world.server.token }, new URL(bridge.link).hash, { signedIn: false });
    await tab.page.getByRole('link', { name: 'billing', exact: true }).click();
    await tab.page.getByRole('grid').waitFor();
    const kept = await tab.page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.documentElement.outerHTML]));
    assert.ok(!kept.includes(world.server.token));
    await tab.close();
    await bridge.stop();
  });

  test('what only reads offers nothing else', async () => {
    const bridge = await startBridge(world.server, '--read-only');
    const tab = await open({ url: bridge.url, token: null }, new URL(bridge.link).hash, { signedIn: false });
    await tab.page.getByRole('link', { name: 'billing', exact: true }).waitFor();
    await tab.page.getByRole('button', { name: 'New collection' }).waitFor({ state: 'detached' });
    await tab.page.goto(`${bridge.url}/console/${place('job', 'billing', 'odd')}`);
    await tab.page.getByText('Every day at').first().waitFor();
    assert.equal(await tab.page.getByRole('button', { name: 'Run now' }).count(), 0);
    assert.equal(await tab.page.getByRole('link', { name: 'Edit' }).count(), 0);
    await tab.close();
    await bridge.stop();
  });
});


/** An issuer of JWTs: it sends a browser back with a code, and gives a token for the code and its proof. */
async function startIssuer() {
  const asked = [];
  const codes = new Map();
  const issuer = createServer((request, response) => {
    const url = new URL(request.url, 'http://issuer');
    const answer = (document) => {
      response.setHeader('access-control-allow-origin', '*');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(document));
    };
    const origin = `http://127.0.0.1:${issuer.address().port}`;
    if (url.pathname.endsWith('/openid-configuration')) return answer({ authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` });
    if (url.pathname === '/authorize') {
      const query = Object.fromEntries(url.searchParams);
      codes.set('c-1', query);
      // Not by a redirect: the browser's driver would not see the request that follows.
      response.setHeader('content-type', 'text/html');
      return response.end(`<meta http-equiv="refresh" content="0;url=${query.redirect_uri}?code=c-1&amp;state=${query.state}">`);
    }
    let body = '';
    request.on('data', (data) => { body += data; });
    request.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(body));
      asked.push(form);
      const { code_challenge: challenge, redirect_uri: back } = codes.get(form.code) ?? {};
      const isProved = createHash('sha256').update(form.code_verifier ?? '').digest('base64url') === challenge && back === form.redirect_uri;
      codes.delete(form.code);
      answer(isProved ? { id_token: 'id-token', access_token: 'other', expires_in: 3_600 } : { error: 'invalid_grant' });
    });
  });
  await new Promise((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${issuer.address().port}`, asked, stop: () => new Promise((resolve) => issuer.close(resolve)) };
}

/** A tab of a console whose server is told to sign in otherwise. */
async function openWith(config, { policy = (was) => was } = {}) {
  const tab = await open(world.server, 'nothing.js', { signedIn: false });
  await tab.page.route(`${world.server.url}/console/config.json`, (route) => route.fulfill({ json: config }));
  await tab.page.route((url) => url.pathname === '/console/', async (route) => {
    const answer = await route.fetch({ url: `${world.server.url}/console/` });
    const headers = { ...answer.headers(), 'content-security-policy': policy(answer.headers()['content-security-policy']) };
    return route.fulfill({ response: answer, headers });
  });
  return tab;
}

describe('an installation without tokens of its own', () => {
  test('a browser signs in at the issuer, comes back to its page, and keeps nothing', async () => {
    const issuer = await startIssuer();
    const config = { auth: 'jwt', issuer: issuer.url, clientId: 'app', audiences: ['api', 'app'] };
    const tab = await openWith(config, { policy: (was) => was.replace("connect-src 'self'", `connect-src 'self' ${issuer.url}`) });
    const { page } = tab;
    // A page whose answer was changed on its way has no address, and may not call this machine itself.
    await page.route(`${issuer.url}/{.well-known/**,token}`, async (route) => route.fulfill({ response: await route.fetch() }));
    // The token of the issuer opens the API.
    await page.route((url) => /^\/(minutehand|subscriptions)\//.test(url.pathname), (route) => {
      const isSigned = route.request().headers().authorization === 'Bearer id-token';
      return isSigned ? route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${world.server.token}` } }) : route.continue();
    });
    await page.goto(`${world.server.url}/console/${place('jobs', 'billing')}`);
    await page.getByRole('button', { name: /^Sign in at 127/ }).click();
    await page.getByRole('grid').waitFor();
    assert.equal(new URL(page.url()).search, '');
    assert.equal(new URL(page.url()).hash, place('jobs', 'billing'));
    const kept = await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));
    assert.doesNotMatch(kept, /id-token|verifier/);
    assert.equal(issuer.asked[0].client_id, 'app');
    // The page went to the issuer, which it may, and nowhere else.
    tab.faults.splice(0, tab.faults.length, ...tab.faults.filter((line) => !line.includes(issuer.url)));
    await tab.close();
    await issuer.stop();
  });

  test('an answer that was not asked for is refused', async () => {
    const tab = await openWith({ auth: 'jwt', issuer: 'http://127.0.0.1:9', clientId: 'app', audiences: [] });
    await tab.page.addInitScript(() => sessionStorage.setItem('minutehand.login', JSON.stringify({ verifier: 'v', state: 'mine', hash: '' })));
    await tab.page.goto(`${world.server.url}/console/?code=c&state=other`);
    await tab.page.getByText('does not belong to this page').waitFor();
    assert.equal(new URL(tab.page.url()).search, '');
    await tab.close();
  });

  for (const [config, said] of [[{ auth: 'iam' }, 'signed with credentials of AWS'], [{ auth: 'jwt' }, 'the console is not registered']]) {
    test(`${config.auth} without a way for browsers names the command`, async () => {
      const tab = await openWith(config);
      await tab.page.goto(`${world.server.url}/console/`);
      await tab.page.getByText(said).waitFor();
      await tab.page.getByText('minutehand console --context NAME').waitFor();
      assert.deepEqual(await defects(tab.page), []);
      await tab.close();
    });
  }
});
