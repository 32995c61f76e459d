// Signing in, over the page that asked for it: what was typed there stays.
import { useState } from 'preact/hooks';
import { ApiError, api, isRefused, signIn, signOut, token } from './api';
import { asError } from './load';
import { me, say } from './state';
import { Dialog, ErrorPanel, Field } from './ui';

export function SignIn() {
  const [value, setValue] = useState('');
  const [remember, setRemember] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  if (!isRefused.value) return null;
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
      setError(refused);
      if (refused.status === 401) {
        signOut();
        token.value = before;
      }
    }
  };
  return (
    <Dialog title="Sign in to Minutehand" onClose={() => {}} isFixed>
      <form onSubmit={submit}>
        <p class="muted">The server asks for a token. It is in the file that the server named at its start: <code>.minutehand/token</code>, unless another was given.</p>
        <Field label="Token">
          {(given) => <input {...given} class="i" type="password" required value={value} autocomplete="current-password" spellcheck={false} onInput={(event) => setValue(event.currentTarget.value)} />}
        </Field>
        <label class="check"><input type="checkbox" checked={remember} onChange={(event) => setRemember(event.currentTarget.checked)} /> Remember it on this computer. Otherwise this tab alone keeps it.</label>
        {error && <ErrorPanel error={error} />}
        <p class="acts"><button type="submit" class="btn go">Sign in</button></p>
      </form>
    </Dialog>
  );
}
