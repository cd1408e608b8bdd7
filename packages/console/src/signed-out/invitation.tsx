import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { beginWithCookie, currentSession, currentToken } from '../session.ts';
import { CardForm, CardPage, IncompleteLink, NameField, NewPasswordField, useAction } from './card-page.tsx';
import { enterConsole, linkToken } from './link.ts';

/** Accepts an invitation, by the link that the inviting person passed on. */
export function Invitation(): ReactNode {
  const token = linkToken();
  const invitation = useQuery({
    queryKey: ['invitationLink', token],
    queryFn: () => clientOf(null).call('readInvitationLink', { body: { token } }),
    enabled: token !== '',
    retry: false,
  });
  if (token === '') return <IncompleteLink title="An invitation to Davit" />;
  if (invitation.data === undefined) {
    return (
      <CardPage title="An invitation to Davit">
        <p className="small-print" role="alert">
          {invitation.error?.message ?? 'Reading the invitation…'}
        </p>
      </CardPage>
    );
  }
  const { email, inviter, organization_name: organization, role_name: role } = invitation.data;
  const isPerson = currentSession() !== null && currentToken() === null;
  return (
    <CardPage title={`Join ${organization}`} subtitle={`${inviter} invites ${email} as ${role}`}>
      {isPerson ? <JoinForm token={token} /> : <AcceptForm token={token} email={email} />}
    </CardPage>
  );
}

function JoinForm({ token }: { readonly token: string }): ReactNode {
  const { isBusy, wrong, run } = useAction();
  const join = async (): Promise<void> => {
    await clientOf(null).call('joinByInvitationLink', { body: { token } });
    enterConsole();
  };
  return (
    <CardForm submit="Join with your account" isBusy={isBusy} wrong={wrong} onSubmit={() => run(join)}>
      {null}
    </CardForm>
  );
}

function AcceptForm({ token, email }: { readonly token: string; readonly email: string }): ReactNode {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const { isBusy, wrong, run } = useAction();
  const accept = async (): Promise<void> => {
    const body = { token, password, name: name.trim() };
    const { session_id: id } = await clientOf(null).call('acceptInvitationLink', { body });
    beginWithCookie(id);
    enterConsole();
  };
  return (
    <>
      <CardForm submit="Create account and join" isBusy={isBusy} wrong={wrong} onSubmit={() => run(accept)}>
        <input type="hidden" autoComplete="username" value={email} readOnly />
        <NameField value={name} onChange={setName} />
        <NewPasswordField value={password} onChange={setPassword} />
      </CardForm>
      <p className="small-print">
        If you have an account here, <a href="/console/">sign in</a>, then open the link again.
      </p>
    </>
  );
}
