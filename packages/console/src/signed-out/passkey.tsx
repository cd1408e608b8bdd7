import { ApiError } from '@davit/client';
import type { ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { beginWithCookie } from '../session.ts';
import { useAction } from './card-page.tsx';

/** Signs in with a passkey, which the browser asks for. */
export function PasskeyButton(): ReactNode {
  const { isBusy, wrong, run } = useAction();
  const signIn = async (): Promise<void> => {
    const client = clientOf(null);
    const optionsJSON = await client.call('createPasskeySignIn', {});
    const { startAuthentication } = await import('@simplewebauthn/browser');
    const credential = await startAuthentication({ optionsJSON }).catch((cause: unknown) => {
      // The browser does not say more, so that pages do not learn which passkeys there are.
      const message = 'The browser gave no passkey. Try again, or sign in another way.';
      throw Object.assign(new ApiError({ status: 401, code: 'SIGN_IN_REFUSED', message }), { cause });
    });
    const { session_id: id } = await client.call('signInWithPasskey', { body: { credential } });
    beginWithCookie(id);
  };
  return (
    <>
      <Button icon="key" onClick={() => run(signIn)} refusal={isBusy ? 'The browser asks for a passkey.' : null}>
        Sign in with a passkey
      </Button>
      {wrong !== null && (
        <div className="wrong" role="alert">
          {wrong}
        </div>
      )}
    </>
  );
}
