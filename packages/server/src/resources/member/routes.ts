import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import { WithCookie, type Mounting } from '../../http/mount.ts';
import * as invitation from './invitation.ts';
import { acceptInvitationLink, joinByInvitationLink, readInvitationLink } from './invitation-link.ts';
import * as member from './member.ts';

type MemberDeps = Needs<
  'database' | 'vault' | 'tokens' | 'sessions' | 'passwords',
  'mail' | 'host' | 'port' | 'publicUrl' | 'passwords'
>;

export function mountMember(mounting: Mounting, deps: MemberDeps): void {
  mounting
    .on(operations.getOrganizationMembers, ({ caller, params }) => member.listMembers(deps, caller, params.organizationId))
    .on(operations.editOrganizationMemberRole, ({ caller, params, body }) =>
      member.editMemberRole(deps, caller, params.organizationId, body),
    )
    .on(operations.deleteMember, ({ caller, params, body }) =>
      member.deleteMember(deps, caller, params.organizationId, body.user_id),
    )
    .on(operations.postOrganizationTransferOwnership, ({ caller, params, body }) =>
      member.transferOwnership(deps, caller, params.organizationId, body.user_id),
    )
    .on(operations.getOrganizationInvitedMembers, ({ caller, params }) =>
      invitation.listInvitations(deps, caller, params.organizationId),
    )
    .on(operations.postInviteMember, ({ caller, params, body }) =>
      invitation.inviteMember(deps, caller, params.organizationId, body),
    )
    .on(operations.getMemberInvitation, ({ caller, params }) => invitation.readInvitation(deps, caller, params))
    .on(operations.postAcceptInviteMember, ({ caller, params }) => invitation.acceptInvitation(deps, caller, params))
    .on(operations.readInvitationLink, ({ body }) => readInvitationLink(deps, body.token))
    .on(operations.joinByInvitationLink, ({ caller, body }) => joinByInvitationLink(deps, caller, body.token))
    .on(operations.acceptInvitationLink, async ({ client, body }) => {
      const { session, answer } = await acceptInvitationLink(deps, client, body);
      return new WithCookie(answer, client.cookie(session));
    })
    .on(operations.deleteInviteMember, ({ caller, params }) => invitation.deleteInvitation(deps, caller, params));
}
