/** The channel on which processes tell each other that a token, session, membership or role was changed or taken away. */
export const accessChannel = 'davit_access';

/** The channel on which the database tells changes of custom domains, certificates and challenges. */
export const domainsChannel = 'davit_domains';

/** The channel on which the database tells that clusters come, go, or are reached in another way. */
export const clustersChannel = 'davit_clusters';

/** The channel on which the database says that there is something new for live streams; see migration 0019. */
export const streamChannel = 'davit_stream';
