import { ApiError } from '@davit/client';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { signInOptions } from '../data/account.ts';
import { Button } from '../parts/button.tsx';
import { beginWithCookie, beginWithToken, wasEnded } from '../session.ts';
import { CardForm, CardPage, EmailField, TextField, useAction } from './card-page.tsx';
import { IssuerButtons } from './issuer.tsx';
import { PasskeyButton } from './passkey.tsx';

/** Signs a person in with a password or through an issuer, or a program's owner with an API token. */
export function SignIn(): ReactNode {
  const [usesToken, setUsesToken] = useState(false);
  const options = useQuery(signInOptions);
  const issuers = options.data?.browser_issuers ?? [];
  const hasPasswords = options.data?.passwords !== false;
  const onlyToken = !hasPasswords && issuers.length === 0;
  return (
    <CardPage title="Sign in to Davit">
      {usesToken || onlyToken ? (
        <TokenForm />
      ) : (
        <>
          {hasPasswords && <PasswordForm />}
          {options.data?.sends_mail === true && (
            <p>
              <a href="/console/forgotten">Forgotten password</a>
            </p>
          )}
          {options.data?.passkeys === true && window.PublicKeyCredential !== undefined && <PasskeyButton />}
          <IssuerButtons issuers={issuers} />
        </>
      )}
      {!onlyToken && (
        <Button look="quiet" onClick={() => setUsesToken(!usesToken)}>
          {usesToken ? otherWay(hasPasswords) : 'Use an API token'}
        </Button>
      )}
    </CardPage>
  );
}

function otherWay(hasPasswords: boolean): string {
  return hasPasswords ? 'Use e-mail and password' : 'Sign in as a person';
}

function PasswordForm(): ReactNode {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState<string | null>(null);
  const { isBusy, wrong, run } = useAction(wasEnded() ? 'Your session has ended. Sign in again.' : null);
  const signIn = async (): Promise<void> => {
    const body = { email, password, ...(code !== null && { code }) };
    try {
      const { session_id: id } = await clientOf(null).call('signIn', { body });
      beginWithCookie(id);
    } catch (error) {
      const needsCode = error instanceof ApiError && error.code === 'SECOND_FACTOR_REQUIRED' && code === null;
      if (!needsCode) throw error;
      setCode('');
    }
  };
  return (
    <CardForm submit={isBusy ? 'Signing in…' : 'Sign in'} isBusy={isBusy} wrong={wrong} onSubmit={() => run(signIn)}>
      <EmailField value={email} onChange={setEmail} />
      <TextField
        id="password"
        label="Password"
        icon="lock"
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
      />
      {code !== null && (
        <TextField
          id="code"
          label="Code of your authenticator app, or a recovery code"
          icon="key"
          autoComplete="one-time-code"
          value={code}
          onChange={setCode}
        />
      )}
    </CardForm>
  );
}

function TokenForm(): ReactNode {
  const [token, setToken] = useState('');
  const { isBusy, wrong, run } = useAction(wasEnded() ? 'Your session has ended. Sign in again.' : null);
  const signIn = async (): Promise<void> => {
    try {
      await clientOf(token.trim()).call('listOrganization');
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw new ApiError({ status: 401, code: error.code, message: 'The server does not know this token, or it has expired.' });
    }
    beginWithToken(token.trim());
  };
  return (
    <>
      <CardForm submit={isBusy ? 'Signing in…' : 'Sign in'} isBusy={isBusy} wrong={wrong} onSubmit={() => run(signIn)}>
        <TextField id="token" label="API token" icon="key" type="password" value={token} onChange={setToken} />
      </CardForm>
      <p className="small-print">
        The token stays in this tab and is forgotten when you close it. The first start of Davit writes the administrator’s token
        to <code>admin-token</code> in its state folder.
      </p>
    </>
  );
}
