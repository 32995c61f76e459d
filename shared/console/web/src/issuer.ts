// Signing in at an issuer of JWTs: an authorization code with PKCE, so the page holds no secret. Tokens stay
// in memory: a page that is loaded again asks the issuer again.
import { ApiError, isRefused, token } from './api';

/** How this installation lets a browser sign in. */
export type Config =
  | { auth: 'token' }
  | { auth: 'iam' }
  | { auth: 'jwt'; issuer?: string; clientId?: string; audiences?: string[] };

type Issuer = { issuer: string; clientId: string; audiences: string[] };

const STARTED = 'minutehand.login';
/** How long before its end a token is replaced, in seconds. */
const EARLY = 60;
/** The shortest and the longest wait for that, in seconds. */
const WAIT_MIN = 30;
const WAIT_MAX = 86_400;

export async function readConfig(): Promise<Config> {
  try {
    return (await (await fetch('/console/config.json', { credentials: 'omit' })).json()) as Config;
  } catch {
    return { auth: 'token' };
  }
}

export const issuerOf = (config: Config): Issuer | null =>
  config.auth === 'jwt' && config.issuer && config.clientId
    ? { issuer: config.issuer, clientId: config.clientId, audiences: config.audiences ?? [] }
    : null;

const base64 = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const random = () => base64(crypto.getRandomValues(new Uint8Array(32)));

const failure = (message: string) => new ApiError(0, 'SignIn', message);

interface Endpoints {
  authorization_endpoint: string;
  token_endpoint: string;
}

async function endpoints({ issuer }: Issuer): Promise<Endpoints> {
  try {
    const answer = await fetch(`${issuer}/.well-known/openid-configuration`, { credentials: 'omit' });
    const found = (await answer.json()) as Partial<Endpoints>;
    if (found.authorization_endpoint && found.token_endpoint) return found as Endpoints;
  } catch {
    // It is said below.
  }
  throw failure(`${new URL(issuer).host} does not say how to sign in there.`);
}

/** Where the issuer sends the browser back to. */
const redirect = () => `${location.origin}${location.pathname}`;

/** Leaves for the issuer. What was on the page is found again by its address. */
export async function login(issuer: Issuer) {
  const { authorization_endpoint } = await endpoints(issuer);
  const [verifier, state] = [random(), random()];
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  sessionStorage.setItem(STARTED, JSON.stringify({ verifier, state, hash: location.hash }));
  const to = new URL(authorization_endpoint);
  const asked: Record<string, string> = {
    response_type: 'code',
    client_id: issuer.clientId,
    redirect_uri: redirect(),
    scope: 'openid',
    state,
    code_challenge: base64(new Uint8Array(digest)),
    code_challenge_method: 'S256',
    // Some issuers make a token for an API only if it is named; the others ignore it.
    ...(!takesId(issuer) && issuer.audiences[0] && { audience: issuer.audiences[0] }),
  };
  for (const [name, value] of Object.entries(asked)) to.searchParams.set(name, value);
  location.assign(to);
}

/** An ID token is for the client itself: it opens the API if the client is one of its audiences. */
const takesId = ({ audiences, clientId }: Issuer) => audiences.includes(clientId);

/** Whether the browser comes back from an issuer: then its code is exchanged, and leaves the address at once. */
export async function finishLogin(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const [code, state, refused] = [
    query.get('code'),
    query.get('state'),
    query.get('error_description') ?? query.get('error'),
  ];
  const kept = sessionStorage.getItem(STARTED);
  if ((!code && !refused) || !kept) return;
  sessionStorage.removeItem(STARTED);
  const started = JSON.parse(kept) as { verifier: string; state: string; hash: string };
  history.replaceState(null, '', `${location.pathname}${started.hash}`);
  dispatchEvent(new HashChangeEvent('hashchange'));
  if (refused) throw failure(`The issuer refused to sign you in: ${refused}`);
  const issuer = issuerOf(await readConfig());
  if (!issuer || !code || state !== started.state)
    throw failure('This answer of the issuer does not belong to this page. Sign in again.');
  await exchange(issuer, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirect(),
    code_verifier: started.verifier,
  });
}

async function exchange(issuer: Issuer, asked: Record<string, string>) {
  const { token_endpoint } = await endpoints(issuer);
  let answer: { access_token?: string; id_token?: string; refresh_token?: string; expires_in?: number };
  try {
    const body = new URLSearchParams({ ...asked, client_id: issuer.clientId });
    answer = (await (
      await fetch(token_endpoint, { method: 'POST', body, credentials: 'omit' })
    ).json()) as typeof answer;
  } catch {
    throw failure(`${new URL(token_endpoint).host} did not answer with a token.`);
  }
  const found = takesId(issuer) ? answer.id_token : answer.access_token;
  if (!found) throw failure('The issuer gave no token that the API takes.');
  token.value = found;
  isRefused.value = false;
  const { refresh_token } = answer;
  if (!refresh_token || !answer.expires_in) return;
  const wait = Math.min(WAIT_MAX, Math.max(WAIT_MIN, answer.expires_in - EARLY));
  setTimeout(() => {
    // Without a new token the next answer is 401, and the sign-in opens.
    exchange(issuer, { grant_type: 'refresh_token', refresh_token }).catch(() => {});
  }, wait * 1_000);
}
