import { useState, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { CardForm, CardPage, EmailField, useAction } from './card-page.tsx';

/** Asks for a mail with a link to set a new password. */
export function Forgotten(): ReactNode {
  const [email, setEmail] = useState('');
  const [isAsked, setAsked] = useState(false);
  const { isBusy, wrong, run } = useAction();
  const ask = async (): Promise<void> => {
    await clientOf(null).call('requestPasswordReset', { body: { email } });
    setAsked(true);
  };
  if (isAsked) {
    return (
      <CardPage title="Look at your mail" subtitle={email}>
        <p>If there is an account with this address, a link to set a new password is on its way. It works for two hours.</p>
        <p className="small-print">
          Nothing arrives? Ask an administrator of your organization for a link, or <a href="/console/">sign in</a>.
        </p>
      </CardPage>
    );
  }
  return (
    <CardPage title="Forgotten password">
      <CardForm submit="Send me a link" isBusy={isBusy} wrong={wrong} onSubmit={() => run(ask)}>
        <EmailField value={email} onChange={setEmail} />
      </CardForm>
      <p className="small-print">
        <a href="/console/">Back to the sign-in</a>
      </p>
    </CardPage>
  );
}
