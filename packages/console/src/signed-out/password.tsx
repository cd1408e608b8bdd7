import { useState, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { CardForm, CardPage, IncompleteLink, NewPasswordField, useAction } from './card-page.tsx';
import { enterConsole, linkToken } from './link.ts';

/** Sets a new password, by a link of an administrator or the operator. */
export function NewPassword(): ReactNode {
  const [password, setPassword] = useState('');
  const [removed, setRemoved] = useState(0);
  const { isBusy, wrong, run } = useAction();
  const reset = async (): Promise<void> => {
    const reset = await clientOf(null).call('resetPassword', { body: { token: linkToken(), password } });
    if (reset.removed_passkeys === 0) enterConsole();
    else setRemoved(reset.removed_passkeys);
  };
  if (removed > 0) {
    return (
      <CardPage title="The password is set">
        <p>
          {removed === 1 ? 'One passkey was removed' : `${removed} passkeys were removed`}, in case somebody else added it. Sign
          in with the new password, and add yours again.
        </p>
        <Button look="main" onClick={enterConsole}>
          Sign in
        </Button>
      </CardPage>
    );
  }
  if (linkToken() === '') return <IncompleteLink title="Set a new password" />;
  return (
    <CardPage title="Set a new password">
      <CardForm submit="Set password" isBusy={isBusy} wrong={wrong} onSubmit={() => run(reset)}>
        <NewPasswordField value={password} onChange={setPassword} />
      </CardForm>
      <p className="small-print">
        All your sessions end, and your passkeys are removed. Sign in with the new password afterwards.
      </p>
    </CardPage>
  );
}
