import { useState, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { CardForm, CardPage, IncompleteLink, NewPasswordField, useAction } from './card-page.tsx';
import { enterConsole, linkToken } from './link.ts';

/** Sets a new password, by a link of an administrator or the operator. */
export function NewPassword(): ReactNode {
  const [password, setPassword] = useState('');
  const { isBusy, wrong, run } = useAction();
  const reset = async (): Promise<void> => {
    await clientOf(null).call('resetPassword', { body: { token: linkToken(), password } });
    enterConsole();
  };
  if (linkToken() === '') return <IncompleteLink title="Set a new password" />;
  return (
    <CardPage title="Set a new password">
      <CardForm submit="Set password" isBusy={isBusy} wrong={wrong} onSubmit={() => run(reset)}>
        <NewPasswordField value={password} onChange={setPassword} />
      </CardForm>
      <p className="small-print">All your sessions end. Sign in with the new password afterwards.</p>
    </CardPage>
  );
}
