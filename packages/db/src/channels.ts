/** Channel for notifying other processes that a token, session, membership or role was changed or removed. */
export const accessChannel = 'davit_access';

/** Channel on which the database reports changes of custom domains, certificates and challenges. */
export const domainsChannel = 'davit_domains';

/** Channel on which the database reports that clusters were added or removed, or that their connection changed. */
export const clustersChannel = 'davit_clusters';

/** Channel for notifying workers that an event of a git host is due. */
export const gitEventChannel = 'davit_git_event';
