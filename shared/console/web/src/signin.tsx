// Signing in, over the page that asked for it: what was typed there stays.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, isRefused, signIn, signOut, token } from './api';
import { Dialog } from './dialog';
import { type Config, issuerOf, login, readConfig } from './issuer';
import { asError } from './load';
import { me, say } from './state';
import { ErrorPanel, Field } from './ui';

/** Why signing in at an issuer did not work. */
export const loginError = signal<ApiError | null>(null);

/** The way to sign in that this installation has. */
export function SignIn() {
  const [config, setConfig] = useState<Config | null>(null);
  const isOpen = isRefused.value;
  useEffect(() => {
    if (isOpen) void readConfig().then(setConfig);
  }, [isOpen]);
  if (!isOpen || config === null) return null;
  return config.auth === 'token' ? <ByToken /> : <Elsewhere config={config} />;
}

/** At the issuer of this installation; without one that a browser can use, by a command. */
function Elsewhere({ config }: { config: Config }) {
  const [error, setError] = useState<ApiError | null>(loginError.value);
  const issuer = issuerOf(config);
  return (
    <Dialog title="Sign in to Minutehand" onClose={() => {}} isFixed>
      {issuer ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            login(issuer).catch((thrown) => setError(asError(thrown)));
          }}
        >
          <p class="muted">
            You sign in at {new URL(issuer.issuer).host}, and come back to this page. What it gives stays in this tab
            until it is closed or loaded again.
          </p>
          {error && <ErrorPanel error={error} />}
          <p class="acts">
            <button type="submit" class="btn go">
              Sign in at {new URL(issuer.issuer).host}
            </button>
          </p>
        </form>
      ) : (
        <>
          <p>
            {config.auth === 'iam'
              ? 'Requests to this installation are signed with credentials of AWS, which a browser does not hold.'
              : 'This installation takes tokens of an issuer at which the console is not registered.'}{' '}
            The command line opens the same console with its own:
          </p>
          <pre class="code">minutehand console --context NAME</pre>
        </>
      )}
    </Dialog>
  );
}

/** What a server says of a token that it does not know is meant for programs. */
const unknown = ({ requestId }: ApiError) =>
  new ApiError(
    401,
    'UnknownToken',
    'This server does not know that token. Copy it whole, without spaces, from the file that the server names at its start.',
    null,
    requestId,
  );

function ByToken() {
  const [value, setValue] = useState('');
  const [remember, setRemember] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setError(null);
    const before = token.value;
    signIn(value.trim(), remember);
    isRefused.value = true;
    try {
      me.value = await api.me();
      isRefused.value = false;
      setValue('');
      say('Signed in.');
    } catch (thrown) {
      const refused = asError(thrown);
      setError(refused.status === 401 ? unknown(refused) : refused);
      if (refused.status === 401) {
        signOut();
        token.value = before;
      }
    }
  };
  return (
    <Dialog title="Sign in to Minutehand" onClose={() => {}} isFixed>
      <form onSubmit={submit}>
        <p class="muted">
          The server asks for a token. It is in the file that the server named at its start:{' '}
          <code>.minutehand/token</code>, unless another was given.
        </p>
        <Field label="Token">
          {(given) => (
            <input
              {...given}
              class="i"
              type="password"
              required
              value={value}
              autocomplete="current-password"
              spellcheck={false}
              onInput={(event) => setValue(event.currentTarget.value)}
            />
          )}
        </Field>
        <label class="check">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.currentTarget.checked)} />{' '}
          Remember it on this computer. Otherwise this tab alone keeps it.
        </label>
        {error && <ErrorPanel error={error} />}
        <p class="acts">
          <button type="submit" class="btn go">
            Sign in
          </button>
        </p>
      </form>
    </Dialog>
  );
}
