import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as invitation from './invitation.ts';
import * as member from './member.ts';

export function mountMember(mounting: Mounting, deps: Needs<'database' | 'tokens', 'host' | 'port' | 'publicUrl'>): void {
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
    .on(operations.deleteInviteMember, ({ caller, params }) => invitation.deleteInvitation(deps, caller, params));
}
