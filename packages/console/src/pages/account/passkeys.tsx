import { ApiError } from '@davit/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { api } from '../../api.ts';
import { passkeys, security, signInOptions } from '../../data/account.ts';
import { send, textOf } from '../../data/send.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import type { Entry } from '../../parts/entries.tsx';
import { EntryDialog } from '../../parts/entry-form.tsx';
import { ErrorNote } from '../../parts/face.tsx';
import { Ago, Cut } from '../../parts/page.tsx';
import { Records } from '../../parts/records.tsx';

type Passkey = Awaited<ReturnType<NonNullable<typeof passkeys.queryFn>>>[number];
type Asked = { readonly what: 'add' } | { readonly what: 'rename' | 'remove'; readonly passkey: Passkey };

const name: Entry = { path: 'name', label: 'Name', help: 'As "Phone" or "Password manager".', control: { kind: 'text' } };
const password: Entry = { path: 'password', label: 'Your password', control: { kind: 'secret' } };
const code: Entry = {
  path: 'code',
  label: 'Code of your authenticator app, or a recovery code',
  control: { kind: 'text' },
};

/** Passkeys of the person: added by the browser, renamed and removed. */
export function Passkeys({ hasSecondFactor }: { readonly hasSecondFactor: boolean }): ReactNode {
  const [asked, ask] = useState<Asked | null>(null);
  const query = useQuery(passkeys);
  const options = useQuery(signInOptions).data;
  const queries = useQueryClient();
  const read = (): void => {
    void queries.invalidateQueries(passkeys);
    void queries.invalidateQueries(security);
  };
  const remove = useMutation({ mutationFn: (passkeyId: string) => send('deletePasskey', { passkeyId }), onSettled: read });
  return (
    <>
      <ErrorNote error={remove.error} />
      <Records
        title="Passkeys"
        query={query}
        empty={{
          title: 'No passkey yet',
          words: 'With one you sign in by PIN, finger or face of a device, instead of password and second factor. Both stay.',
        }}
        add={{ words: 'Add a passkey', refusal: refusalOf(options?.passkeys), onClick: () => ask({ what: 'add' }) }}
        columns={[
          {
            title: 'Passkey',
            cell: ({ name: text, is_synced: isSynced }) => (
              <>
                <div className="name">
                  <Cut text={text} />
                </div>
                <div className="under">{isSynced ? 'Copied to your other devices' : 'Only on this device'}</div>
              </>
            ),
          },
          {
            title: 'Last used',
            width: '18%',
            cell: ({ last_used_at: at }) => (at === null ? <span className="text-muted">Never</span> : <Ago at={at} />),
          },
          { title: 'Added', width: '18%', isWideOnly: true, cell: ({ created_at: at }) => <Ago at={at} /> },
        ]}
        actions={(passkey) => (
          <>
            <Button isSmall look="quiet" onClick={() => ask({ what: 'rename', passkey })}>
              Rename<span className="sr-only"> {passkey.name}</span>
            </Button>
            <Button isSmall look="quiet" onClick={() => ask({ what: 'remove', passkey })}>
              Remove<span className="sr-only"> {passkey.name}</span>
            </Button>
          </>
        )}
      />
      {asked !== null && (
        <Questions
          asked={asked}
          hasSecondFactor={hasSecondFactor}
          onChanged={read}
          onRemove={remove.mutate}
          onClose={() => ask(null)}
        />
      )}
    </>
  );
}

interface QuestionsProps {
  readonly asked: Asked;
  readonly hasSecondFactor: boolean;
  readonly onChanged: () => void;
  readonly onRemove: (passkeyId: string) => void;
  readonly onClose: () => void;
}

/** The dialogs that add, rename and remove a passkey. */
function Questions({ asked, hasSecondFactor, onChanged, onRemove, onClose }: QuestionsProps): ReactNode {
  return (
    <>
      {asked.what === 'add' && (
        <EntryDialog
          title="Add a passkey"
          about="Then the browser asks which device or password manager keeps it."
          entries={() => (hasSecondFactor ? [name, password, code] : [name, password])}
          verb="Go on"
          onSubmit={(values) => addPasskey(values).then(onChanged)}
          onClose={onClose}
        />
      )}
      {asked.what === 'rename' && (
        <EntryDialog
          title={`Rename ${asked.passkey.name}`}
          entries={() => [name]}
          initial={{ name: asked.passkey.name }}
          verb="Rename"
          onSubmit={(values) => send('editPasskey', { passkeyId: asked.passkey.id }, values).then(onChanged)}
          onClose={onClose}
        />
      )}
      {asked.what === 'remove' && (
        <Confirm
          title={`Remove ${asked.passkey.name}?`}
          verb="Remove"
          isDangerous
          onConfirm={() => onRemove(asked.passkey.id)}
          onClose={onClose}
        >
          <p>It signs nobody in any more. Sessions that began with it stay until you end them.</p>
        </Confirm>
      )}
    </>
  );
}

/** Returns why no passkey can be added here; null if one can, or while that is not known. */
function refusalOf(areOffered: boolean | undefined): string | null {
  if (window.PublicKeyCredential === undefined) return 'This browser offers passkeys only on pages with https, or on localhost.';
  return areOffered === false ? 'Passkeys need a host name: Davit was opened by an IP address, or they are off.' : null;
}

/** Lets the browser make a passkey after the server has checked the password. */
async function addPasskey(values: Parameters<typeof send>[2]): Promise<unknown> {
  const given = textOf(values, 'code');
  const body = { password: textOf(values, 'password'), ...(given !== '' && { code: given }) };
  const optionsJSON = await api().call('createPasskeyChallenge', { body });
  const { startRegistration } = await import('@simplewebauthn/browser');
  const credential = await startRegistration({ optionsJSON }).catch((cause: unknown) => {
    const isKnown = cause instanceof Error && cause.name === 'InvalidStateError';
    const what = isKnown
      ? 'This device keeps a passkey of your account already.'
      : 'The browser made no passkey. Try again, or choose another device.';
    const message = given === '' ? what : `${what} The code was used: enter the next one.`;
    throw Object.assign(new ApiError({ status: 400, code: 'VALIDATION_FAILED', message }), { cause });
  });
  return api().call('createPasskey', { body: { name: textOf(values, 'name'), credential } });
}
