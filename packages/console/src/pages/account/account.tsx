import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { account, security, sessions } from '../../data/account.ts';
import { send } from '../../data/send.ts';
import { usePageLocation } from '../../frame/page-location.ts';
import { Button } from '../../parts/button.tsx';
import { EntryForm } from '../../parts/entry-form.tsx';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Ago, Box, Cut, Head } from '../../parts/page.tsx';
import { Records } from '../../parts/records.tsx';
import { State } from '../../parts/state.tsx';
import { currentToken } from '../../session.ts';
import { Passkeys } from './passkeys.tsx';
import { SecondFactor } from './second-factor.tsx';

/** Who you are, how you sign in, and where you are signed in. */
export function AccountPage(): ReactNode {
  const read = useQuery({ ...account, enabled: currentToken() === null });
  if (currentToken() !== null) {
    return (
      <Face icon="key" title="An API token has no account" isPage>
        This tab is signed in with an API token. Sign out, then sign in with your e-mail address to see your account.
      </Face>
    );
  }
  if (read.error !== null && read.data === undefined) return <FailedFace error={read.error} isPage />;
  const { nickname, first_name: first, last_name: last } = read.data ?? {};
  const name = nickname ?? [first, last].filter((one) => one !== undefined).join(' ');
  return (
    <>
      <Head title="Your account" facts={name !== '' && <Cut text={name} />} />
      <div className="columns">
        {read.data === undefined ? (
          <div className="box">
            <LoadingRows />
          </div>
        ) : (
          <Profile name={name} address={read.data.communication_email ?? ''} />
        )}
        <Security />
      </div>
      <Sessions />
      <Tokens />
    </>
  );
}

function Profile({ name, address }: { readonly name: string; readonly address: string }): ReactNode {
  const { data } = useQuery(security);
  const queries = useQueryClient();
  return (
    <Box title="Person">
      <dl className="definitions">
        <dt>Name</dt>
        <dd>
          <bdi>{name === '' ? '–' : name}</bdi>
        </dd>
        <dt>Signs in as</dt>
        <dd>
          <bdi>{data?.email ?? '–'}</bdi>
        </dd>
      </dl>
      <div className="form-box ruled">
        <EntryForm
          key={address}
          entries={() => [
            {
              path: 'communication_email',
              label: 'Address for messages',
              help: 'Where Davit writes to. You go on signing in with the address above.',
              control: { kind: 'email' },
            },
          ]}
          initial={{ communication_email: address }}
          verb="Save"
          isPlain
          onSubmit={(values) => send('editAccountInformation', {}, values).then(() => queries.invalidateQueries(account))}
        />
      </div>
    </Box>
  );
}

/** Password, second factor and passkeys; people of an issuer have theirs there. */
function Security(): ReactNode {
  const { data, error } = useQuery(security);
  if (data === undefined) return error === null ? null : <FailedFace error={error} />;
  if (!data.has_password) {
    return (
      <Box title="Password">
        <div className="quiet-line">You sign in by an issuer, which keeps your password, second factor and passkeys.</div>
      </Box>
    );
  }
  return (
    <>
      <Password />
      <SecondFactor isOn={data.has_second_factor} codes={data.recovery_codes} />
      <Passkeys hasSecondFactor={data.has_second_factor} />
    </>
  );
}

function Password(): ReactNode {
  const change = useMutation({ mutationFn: (values: Parameters<typeof send>[2]) => send('changePassword', {}, values) });
  const queries = useQueryClient();
  // A form for each change, as its fields must be empty after one.
  const [changes, setChanges] = useState(0);
  return (
    <Box title="Password">
      <div className="form-box">
        <EntryForm
          key={changes}
          entries={() => [
            { path: 'current_password', label: 'Current password', control: { kind: 'secret' } },
            { path: 'new_password', label: 'New password', help: 'At least 10 characters.', control: { kind: 'secret' } },
          ]}
          verb="Change password"
          isPlain
          onSubmit={async (values) => {
            await change.mutateAsync(values);
            setChanges((count) => count + 1);
            await queries.invalidateQueries(sessions);
          }}
        />
        {change.isSuccess && (
          <p className="mt-3" role="status">
            <State shape="ok">Changed. Your other sessions have ended.</State>
          </p>
        )}
      </div>
    </Box>
  );
}

function Sessions(): ReactNode {
  const queries = useQueryClient();
  const read = (): void => void queries.invalidateQueries(sessions);
  const end = useMutation({ mutationFn: (sessionId: string) => send('endSession', { sessionId }), onSettled: read });
  const endOthers = useMutation({ mutationFn: () => send('endOtherSessions', {}), onSettled: read });
  const query = useQuery(sessions);
  const others = query.data?.filter((one) => !one.is_current).length ?? 0;
  return (
    <>
      <ErrorNote error={end.error ?? endOthers.error} />
      <Records
        title="Sessions"
        query={query}
        empty={{ title: 'No session', words: 'You are not signed in anywhere.' }}
        add={{
          words: 'End all others',
          refusal: others === 0 ? 'You have no other session.' : null,
          onClick: () => endOthers.mutate(),
        }}
        columns={[
          {
            title: 'Session',
            cell: ({ user_agent: agent, address, is_current: isCurrent }) => (
              <>
                <div className="name">
                  <Cut text={browserOf(agent)} />
                  {isCurrent && <span className="chip">This one</span>}
                </div>
                <div className="under">
                  <Cut text={address ?? 'Unknown address'} />
                </div>
              </>
            ),
          },
          { title: 'Last used', width: '18%', cell: ({ last_used_at: at }) => <Ago at={at} /> },
          { title: 'Began', width: '18%', isWideOnly: true, cell: ({ created_at: at }) => <Ago at={at} /> },
        ]}
        actions={({ id, user_agent: agent, is_current: isCurrent }) => (
          <Button
            isSmall
            look="quiet"
            refusal={isCurrent ? 'Sign out to end this session.' : null}
            onClick={() => end.mutate(id)}
          >
            End<span className="sr-only"> the session of {browserOf(agent)}</span>
          </Button>
        )}
      />
    </>
  );
}

/** Returns what a user agent calls itself, for people: "Firefox on Linux". */
function browserOf(agent: string | null): string {
  if (agent === null) return 'Unknown program';
  const browser = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((one) => agent.includes(one));
  if (browser === undefined) return agent.slice(0, 80);
  const system = ['Android', 'iPhone', 'Windows', 'Mac OS', 'Linux'].find((one) => agent.includes(one));
  const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera' };
  return `${names[browser] ?? browser}${system === undefined ? '' : ` on ${system}`}`;
}

function Tokens(): ReactNode {
  const { organizationId } = usePageLocation();
  if (organizationId === null) return null;
  return (
    <Box title="Programs">
      <div className="quiet-line">
        Programs sign in with API tokens, which belong to an organization.{' '}
        <Link className="link" to="/organization/$organizationId/tokens" params={{ organizationId }}>
          API tokens
        </Link>
      </div>
    </Box>
  );
}
