import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { invitationsOf, membersOf, type ListedMember, rolesOf } from '../../data/organization.ts';
import { useRefusal } from '../../data/rights.ts';
import { send, textOf } from '../../data/send.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { EntryDialog } from '../../parts/entry-form.tsx';
import { ErrorNote } from '../../parts/face.tsx';
import { Once } from '../../parts/once.tsx';
import { Ago, Cut, CutAll } from '../../parts/page.tsx';
import { Records, type RecordColumn } from '../../parts/records.tsx';
import { State } from '../../parts/state.tsx';
import { valueAt, type Json } from '../../data/paths.ts';
import { RecordPart } from './record-page.tsx';

/** A link that is shown once, and what it is for. */
interface Link {
  readonly title: string;
  readonly words: string;
  readonly text: string;
}

/** Who may do what in the organization, and who is invited. */
export function MembersPage(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const [link, show] = useState<Link | null>(null);
  const invitations = useQuery(invitationsOf(organizationId));
  const roles = useQuery(rolesOf(organizationId)).data ?? [];
  const options = roles.filter(({ name }) => name !== 'Owner').map(({ id, name }) => [id, name] as const);
  return (
    <>
      <Members organizationId={organizationId} roles={options} onLink={show} />
      <RecordPart
        kind={{
          title: 'Invitations',
          one: 'invitation',
          about: 'You get a link. Whoever opens it becomes a member, so pass it on by a safe way.',
          empty: 'Invite a person: they join with an account of their own.',
          query: invitations,
          queryKey: invitationsOf(organizationId).queryKey,
          params: { organizationId },
          create: 'postInviteMember',
          remove: 'deleteInviteMember',
          idParameter: 'inviteId',
          lost: 'Its link stops working.',
          initial: () => ({ role_id: options.find(([, name]) => name === 'Viewer')?.[0] ?? options[0]?.[0] }),
          entries: () => [
            { path: 'email', label: 'E-mail address', control: { kind: 'email' } },
            { path: 'role_id', label: 'Role', control: { kind: 'pick', options } },
          ],
          onCreated: (answer) =>
            show({
              title: 'The invitation’s link',
              words: `For ${textOf(answer, 'email')}. It works once, for seven days, and is shown only now.`,
              text: textOf(answer, 'invitation_link'),
            }),
          columns: [
            {
              title: 'Invited',
              cell: ({ email, role_name: role, inviter }) => (
                <>
                  <Cut text={email} />
                  <div className="under">
                    <CutAll texts={[role ?? '', `by ${inviter}`]} />
                  </div>
                </>
              ),
            },
            {
              title: 'State',
              width: '24%',
              cell: ({ invitation_status: status, created_at: at }) => (
                <>
                  {status === 'EXPIRED' ? <State shape="off">Expired</State> : <State shape="wait">Pending</State>}
                  <div className="under pl-[19px]">
                    <Ago at={at} />
                  </div>
                </>
              ),
            },
          ],
        }}
      />
      {link !== null && (
        <Once title={link.title} text={link.text} onClose={() => show(null)}>
          {link.words}
        </Once>
      )}
    </>
  );
}

type Asked = 'role' | 'owner' | 'remove' | 'password';

/** A change of a member that is not decided yet. */
interface Question {
  readonly what: Asked;
  readonly id: string;
  readonly name: string;
}

interface MembersProps {
  readonly organizationId: string;
  readonly roles: readonly (readonly [string, string])[];
  readonly onLink: (link: Link) => void;
}

const memberColumns: readonly RecordColumn<ListedMember>[] = [
  {
    title: 'Member',
    cell: ({ name, email }) => (
      <>
        <div className="name">
          <Cut text={name} />
        </div>
        <div className="under">
          <Cut text={email} />
        </div>
      </>
    ),
  },
  { title: 'Role', width: '18%', cell: ({ role_name: role }) => <Cut text={role ?? ''} /> },
  {
    title: 'Last seen',
    width: '14%',
    isWideOnly: true,
    cell: ({ last_activity_at: at }) => (at === undefined ? <span className="text-muted">Never</span> : <Ago at={at} />),
  },
];

function Members({ organizationId, roles, onLink }: MembersProps): ReactNode {
  const params = { organizationId };
  const members = useQuery(membersOf(organizationId));
  const refusal = useRefusal('postInviteMember', params);
  // Only the owner passes the role on, which other administrators may not.
  const transferRefusal = useRefusal('postOrganizationTransferOwnership', params);
  const [asked, ask] = useState<Question | null>(null);
  const queries = useQueryClient();
  const read = (): void => void queries.invalidateQueries({ queryKey: ['members', organizationId] });
  const action = useMutation({
    mutationFn: async ({ what, id, name }: Question) => {
      if (what === 'owner') await send('postOrganizationTransferOwnership', params, { user_id: id });
      else if (what === 'remove') await send('deleteMember', params, { user_id: id });
      else {
        const text = textOf(await send('createPasswordLink', { ...params, userId: id }), 'link');
        onLink({ title: 'The link for a new password', words: `For ${name}. It works once and is shown only now.`, text });
      }
    },
    onSettled: read,
  });
  return (
    <>
      <ErrorNote error={action.error} />
      <Records
        title="Members"
        query={members}
        empty={{ title: 'No member yet', words: 'Only API tokens act in this organization. Invite a person below.' }}
        columns={memberColumns}
        actions={({ id, name, role_name: role }) => {
          const isOwner = role === 'Owner' ? 'The owner’s role passes on by “Make owner” only.' : null;
          const button = (what: Asked, words: string, own: string | null): ReactNode => (
            <Button
              isSmall
              look="quiet"
              refusal={refusal ?? own}
              onClick={() => {
                action.reset();
                ask({ what, id, name });
              }}
            >
              {words}
              <span className="sr-only"> {name}</span>
            </Button>
          );
          return (
            <>
              {button('role', 'Role', isOwner)}
              {button('owner', 'Make owner', role === 'Owner' ? 'This is the owner.' : transferRefusal)}
              {button('password', 'Password', null)}
              {button('remove', 'Remove', isOwner)}
            </>
          );
        }}
      />
      <MemberDialogs
        asked={asked}
        roles={roles}
        roleId={members.data?.find(({ id }) => id === asked?.id)?.role_id}
        onRole={(role_id) => send('editOrganizationMemberRole', params, { user_id: asked?.id ?? '', role_id }).then(read)}
        onConfirm={(one) => action.mutate(one)}
        onClose={() => ask(null)}
      />
    </>
  );
}

interface MemberDialogsProps {
  readonly asked: Question | null;
  readonly roles: MembersProps['roles'];
  readonly roleId: string | undefined;
  readonly onRole: (roleId: Json | undefined) => Promise<void>;
  readonly onConfirm: (question: Question) => void;
  readonly onClose: () => void;
}

function MemberDialogs({ asked, roles, roleId, onRole, onConfirm, onClose }: MemberDialogsProps): ReactNode {
  return (
    <>
      {asked?.what === 'role' && (
        <EntryDialog
          title={`Role of ${asked.name}`}
          entries={() => [{ path: 'role_id', label: 'Role', control: { kind: 'pick', options: roles } }]}
          initial={{ role_id: roleId }}
          verb="Save"
          onSubmit={(values) => onRole(valueAt(values, 'role_id'))}
          onClose={onClose}
        />
      )}
      {asked !== null && asked.what !== 'role' && (
        <Confirm
          title={questions[asked.what].title(asked.name)}
          verb={questions[asked.what].verb}
          isDangerous={asked.what !== 'password'}
          onConfirm={() => onConfirm(asked)}
          onClose={onClose}
        >
          <p>{questions[asked.what].words}</p>
        </Confirm>
      )}
    </>
  );
}

const questions = {
  owner: {
    title: (name: string) => `Make ${name} the owner?`,
    verb: 'Make owner',
    words: 'The owner now stays as Admin. Only the new owner can undo this.',
  },
  remove: {
    title: (name: string) => `Remove ${name}?`,
    verb: 'Remove',
    words: 'They lose all rights in this organization at once. What they did stays in the audit log.',
  },
  password: {
    title: (name: string) => `A link for a new password of ${name}?`,
    verb: 'Create the link',
    words: 'Whoever has the link can set a new password. Their sessions end when it is set.',
  },
} as const;
