import { ApiError } from '@davit/client';
import { useState, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { queries } from '../data/queries.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { signIn, wasEnded } from '../session.ts';

export function SignIn(): ReactNode {
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState<string | null>(wasEnded() ? 'Your session has ended. Sign in again.' : null);
  const [isChecking, setChecking] = useState(false);
  const check = async (): Promise<void> => {
    setChecking(true);
    setWrong(null);
    try {
      await clientOf(token.trim()).call('listOrganization');
      queries.clear();
      signIn(token.trim());
    } catch (error) {
      setWrong(refusalOf(error));
    }
    setChecking(false);
  };
  return (
    <main className="door">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          void check();
        }}
      >
        <span className="tile">
          <Icon name="davit" size={20} />
        </span>
        <h1>Sign in to Davit</h1>
        <div className="text-muted">{location.host}</div>
        <label htmlFor="token">API token</label>
        <div className="field">
          <Icon name="key" size={14} />
          <input
            id="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            value={token}
            onChange={({ target }) => setToken(target.value)}
            aria-invalid={wrong !== null}
            aria-describedby="wrong"
          />
        </div>
        <div id="wrong" className="wrong" role="alert">
          {wrong}
        </div>
        <Button look="main" isSubmit refusal={isChecking ? 'The token is being checked.' : null}>
          {isChecking ? 'Signing in…' : 'Sign in'}
        </Button>
        <p className="small-print">
          The token stays in this tab and is forgotten when you close it. The first start of Davit writes the administrator’s
          token to <code>admin-token</code> in its state folder.
        </p>
      </form>
    </main>
  );
}

function refusalOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 401) return 'The server does not know this token, or it has expired.';
  if (error instanceof ApiError) return error.message;
  return 'The server does not answer. Check that Davit runs, then try again.';
}
