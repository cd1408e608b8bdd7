import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { security, sessions } from '../../data/account.ts';
import { send, textOf } from '../../data/send.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { EntryDialog, EntryForm } from '../../parts/entry-form.tsx';
import { CopyButton, Once } from '../../parts/once.tsx';
import { Box } from '../../parts/page.tsx';
import { QrCode } from '../../parts/qr-code.tsx';
import { State } from '../../parts/state.tsx';
import { plural } from '../../words.ts';

interface Secret {
  readonly secret: string;
  readonly url: string;
}
type Step =
  | { readonly at: 'password' | 'remove' }
  | ({ readonly at: 'confirm' } & Secret)
  | { readonly at: 'codes'; readonly codes: string };

const password = { path: 'password', label: 'Your password', control: { kind: 'secret' } } as const;

interface SecondFactorProps {
  readonly isOn: boolean;
  /** Recovery codes that were not used. */
  readonly codes: number;
}

/** The second factor: an authenticator app, set up by a QR code, and recovery codes that are shown once. */
export function SecondFactor({ isOn, codes }: SecondFactorProps): ReactNode {
  const [step, go] = useState<Step | null>(null);
  const queries = useQueryClient();
  const read = (): void => {
    void queries.invalidateQueries(security);
    void queries.invalidateQueries(sessions);
  };
  const close = (): void => go(null);
  return (
    <Box title="Second factor">
      <div className="setting">
        <div className="flex flex-wrap gap-x-6 gap-y-2 items-center">
          {isOn ? <State shape="ok">On: sign-in asks for a code of your app</State> : <State shape="off">Off</State>}
          {isOn && <span className="text-muted">{plural(codes, 'recovery code')} left</span>}
        </div>
        <p className="text-muted">
          With it, a password alone is not enough to sign in: an app on your phone shows a code that changes every 30 seconds.
        </p>
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => go({ at: 'password' })}>{isOn ? 'Set up anew' : 'Set up'}</Button>
          {isOn && <Button onClick={() => go({ at: 'remove' })}>Remove</Button>}
        </div>
      </div>
      {step?.at === 'password' && (
        <EntryDialog
          title="Set up the second factor"
          entries={() => [password]}
          verb="Go on"
          onSubmit={async (values) => {
            const answer = await send('createSecondFactor', {}, values);
            go({ at: 'confirm', secret: textOf(answer, 'secret'), url: textOf(answer, 'url') });
          }}
          onClose={() => go((now) => (now?.at === 'password' ? null : now))}
        />
      )}
      {step?.at === 'confirm' && (
        <Confirmation
          {...step}
          onClose={close}
          onDone={(found) => {
            read();
            go({ at: 'codes', codes: found });
          }}
        />
      )}
      {step?.at === 'codes' && (
        <Once title="Your recovery codes" text={step.codes} onClose={close}>
          Each signs you in once if you lose your phone. They are shown only now: print them, or store them where your phone is
          not.
        </Once>
      )}
      {step?.at === 'remove' && (
        <EntryDialog
          title="Remove the second factor?"
          about="Your password alone then signs you in. The recovery codes stop working."
          entries={() => [password]}
          verb="Remove"
          isDangerous
          onSubmit={(values) => send('deleteSecondFactor', {}, values).then(read)}
          onClose={close}
        />
      )}
    </Box>
  );
}

interface ConfirmationProps extends Secret {
  readonly onClose: () => void;
  readonly onDone: (codes: string) => void;
}

function Confirmation({ secret, url, onClose, onDone }: ConfirmationProps): ReactNode {
  return (
    <Dialog label="Scan the code" onClose={onClose}>
      <div className="in form">
        <h2>Scan the code</h2>
        <p className="text-muted">
          Scan it with your authenticator app, or type the secret. Then enter the code that the app shows.
        </p>
        <QrCode text={url} label="QR code with the secret of the second factor" />
        <div className="flex flex-wrap gap-3 items-center">
          <code className="secret">{secret}</code>
          <CopyButton text={secret} words="Copy the secret" />
        </div>
        <EntryForm
          entries={() => [{ path: 'code', label: 'Code of the app', control: { kind: 'text' } }]}
          verb="Turn it on"
          onCancel={onClose}
          onSubmit={async (values) => {
            const answer = await send('confirmSecondFactor', {}, values);
            const codes: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'recovery_codes') : [];
            onDone(Array.isArray(codes) ? codes.join('\n') : '');
          }}
        />
      </div>
    </Dialog>
  );
}
