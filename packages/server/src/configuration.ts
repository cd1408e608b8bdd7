import path from 'node:path';
import type { Sensitive } from '@davit/base';
import type { ClusterSettingsTable } from './cluster-settings.ts';
import type { VendorRegistries } from './vendors.ts';

export const roles = ['all', 'api', 'worker'] as const;
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/**
 * All settings of an operator. `docs/operate.md` explains each variable; a test keeps that list equal to
 * `main/config.ts`.
 */
export interface Configuration {
  readonly stateFolder: string;
  readonly host: string;
  readonly port: number;
  /** URL of the database; null: the embedded PostgreSQL. */
  readonly databaseUrl: Sensitive | null;
  readonly databaseConnections: number;
  readonly bootstrapToken: Sensitive | null;
  /** Keys of the vault; null: the keys of the key file in the state folder. */
  readonly secretKey: Sensitive | null;
  /** Passphrase of exports; null: exports can be neither written nor read. */
  readonly exportPassphrase: Sensitive | null;
  /** Requests per minute and token; 0: no limit. */
  readonly rateLimit: number;
  readonly bodyLimitBytes: number;
  readonly trustProxy: boolean;
  /** Origins of web pages that may use the API from a browser, such as `https://console.example.org`. */
  readonly allowedOrigins: readonly string[];
  /** The vocabulary of clients that is served under a base path; null: none. */
  readonly vocabulary: VocabularyConfiguration | null;
  /** OpenID Connect issuers whose JWTs are accepted, spelled exactly as in their `iss` claim. */
  readonly oidcIssuers: readonly string[];
  /** Accepted audiences; a JWT must have at least one of them. */
  readonly oidcAudiences: readonly string[];
  /** Davit as a client of these issuers: people sign in through them in the browser. */
  readonly oidcClients: readonly OidcClient[];
  /** How mails are sent; null: none are. */
  readonly mail: MailConfiguration | null;
  /** Whether people can sign in with a password. */
  readonly passwords: boolean;
  /** Public URL of this API without a trailing slash; null: the host and port on which it listens. */
  readonly publicUrl: string | null;
  readonly gatewayHost: string;
  readonly gatewayPort: number;
  /** HTTPS port of the gateway; null: no HTTPS. */
  readonly gatewayHttpsPort: number | null;
  /** The certificate authority; null: an authority of the installation itself. */
  readonly acme: AcmeConfiguration | null;
  readonly gatewayDomain: string;
  /** Where the gateway finds the API; null: at this process, if the public URL has the gateway's HTTPS port. */
  readonly gatewayApi: readonly HostPort[] | null;
  /** Seconds of Strict-Transport-Security; 0: the header is not sent. */
  readonly hstsSeconds: number;
  /** Certificates of the addresses that services get below `gatewayDomain`: none, one for all, or one each. */
  readonly addressCertificates: (typeof addressCertificateModes)[number];
  /** New certificates of such addresses within seven days. */
  readonly addressCertificatesPerWeek: number;
  /** How records for DNS challenges (DNS-01) are created; null: they cannot be. */
  readonly dnsChallenge: DnsChallengeConfiguration | null;
  /** DNS servers that check custom domains, `address` or `address:port`; empty: the servers of this machine. */
  readonly dnsServers: readonly string[];
  /** Whether a custom domain is served only after DNS proves that it belongs to its organization. */
  readonly proveDomains: boolean;
  readonly role: (typeof roles)[number];
  readonly allowPrivateTargets: boolean;
  /** Private addresses that git may reach: all, none, or names of hosts, addresses and networks. */
  readonly privateRepositories: boolean | readonly string[];
  readonly allowLocalRepositories: boolean;
  /** Whether container registries and Helm repositories may have http URLs. */
  readonly allowHttpRegistries: boolean;
  readonly vendorRegistries: VendorRegistries;
  /** Prefix of the names of built-in variables, without the underscore. */
  readonly variablePrefix: string;
  /** Whether a local container engine is used; if not, services run on Kubernetes clusters only. */
  readonly localEngine: boolean;
  /** Address of the container engine; null: detected automatically. */
  readonly dockerHost: string | null;
  readonly buildMemoryMiB: number;
  readonly buildCpuMillicores: number;
  readonly readyTimeoutSeconds: number;
  readonly maximumBuilds: number;
  readonly maximumDeployments: number;
  readonly terminationGraceSeconds: number;
  readonly drainSeconds: number;
  /** Whether services on this machine's engine get an address inside their environment that stays. */
  readonly keepsServiceAddresses: boolean;
  readonly clusterWaitSeconds: number;
  /** Settings of Kubernetes clusters, by cluster id. */
  readonly clusterSettings: ClusterSettingsTable;
  readonly keptReleases: number;
  /** Free space of the container engine's disk below which nothing is built or pulled; 0: no limit. */
  readonly minFreeDiskMiB: number;
  /** MiB that the build cache of the container engine may use; 0: no limit. */
  readonly buildCacheMiB: number;
  /** Folder of the repositories that are pushed to Davit; null: `git` in the state folder. */
  readonly gitFolder: string | null;
  /** MiB that one push may send. */
  readonly gitPushMiB: number;
  /** Objects (files, folders, commits) that one push may send. */
  readonly gitPushObjects: number;
  /** Branches that one pushed repository may have. */
  readonly gitReferences: number;
  /** MiB that one pushed repository may use. */
  readonly gitRepositoryMiB: number;
  /** MiB of objects of git repositories that are kept between deployments; 0: none. */
  readonly keptSourcesMiB: number;
  /** Seconds that a service must run without a fault before a condition is cleared. */
  readonly steadySeconds: number;
  /** MiB that an instance may write into its own file system; 0: no limit. */
  readonly instanceDiskMiB: number;
  /** Usage of a volume in percent of its size above which its service is stopped; 0: no limit. */
  readonly volumeLimitPercent: number;
  readonly logRetentionDays: number;
  readonly logMiBPerService: number;
  /** Log lines per second that are stored for a service; 0: no limit. */
  readonly logLinesPerSecond: number;
  readonly metricsSeconds: number;
  readonly scaleDownSeconds: number;
  readonly stopWithinSeconds: number;
  /** Seconds for which the API continues to respond, with `/readyz` failing, before it stops. */
  readonly stopDelaySeconds: number;
  /** Live streams that a token may have open in one process. */
  readonly streamsPerToken: number;
  /** Minutes for which events are stored, so that streams can be resumed. */
  readonly streamRetentionMinutes: number;
  readonly streamHeartbeatSeconds: number;
  /** Seconds for which the client of a stream may read nothing. */
  readonly streamPatienceSeconds: number;
  /** Schedule of the backups of managed databases: five fields of cron, in UTC. */
  readonly backupSchedule: string;
  readonly keptBackups: number;
  /** Folder of backups; null: `backups` in the state folder. */
  readonly backupFolder: string | null;
  readonly backupsAtOnce: number;
  readonly backupTimeoutSeconds: number;
  /** Days for which the backups of a deleted database are kept. */
  readonly orphanBackupDays: number;
  /** File with the data of cloud vendors; null: the file of this version. */
  readonly catalogueFile: string | null;
  /** Name or path of the programs that run Terraform configurations; null: such configurations are not run. */
  readonly terraformProgram: string | null;
  readonly tofuProgram: string | null;
  /** Name or path of the program that deploys charts; null: `helm`, if installed. */
  readonly helmProgram: string | null;
  /** File with the types, versions and images of databases; null: the file of this version. */
  readonly databaseCatalogueFile: string | null;
  /** File with the templates of lifecycle jobs; null: the file of this version. */
  readonly lifecycleTemplatesFile: string | null;
  /** Seconds between polls of repositories for pushes that no webhook reported; 0: never. */
  readonly gitPollSeconds: number;
  /** Whether a push that rewrote the history of a branch is deployed too. */
  readonly gitDeployForcePushes: boolean;
  /**
   * Whether pull requests from other repositories get previews: their code runs with the secrets of the environment.
   */
  readonly previewForks: boolean;
  /** Hours for which a preview stays after its latest deployment; 0: until its pull request is closed. */
  readonly previewHours: number;
  readonly previewsPerEnvironment: number;
  readonly logLevel: (typeof logLevels)[number];
  readonly logRequests: boolean;
  /** Variables that begin with DAVIT_ and are unknown. A warning at start lists them, since they may be misspelt. */
  readonly unknownVariables: readonly string[];
}

export const addressCertificateModes = ['none', 'wildcard', 'each'] as const;

/** An IP address and a port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface DnsChallengeConfiguration {
  /** Dynamic updates (RFC 2136), or a program of the operator's. */
  readonly by: DnsUpdateConfiguration | { readonly program: string };
  /** Seconds between the change of DNS and the check by the authority. */
  readonly waitSeconds: number;
}

export interface DnsUpdateConfiguration {
  readonly server: HostPort;
  /** The zone; null: the server is asked. */
  readonly zone: string | null;
  /** Key of TSIG (RFC 8945); null: updates are not signed. */
  readonly key: TsigKey | null;
}

export interface TsigKey {
  readonly name: string;
  readonly algorithm: 'hmac-sha256' | 'hmac-sha384' | 'hmac-sha512';
  /** In base64. */
  readonly secret: Sensitive;
}

export interface MailConfiguration {
  /** `smtp://` or `smtps://`, with the credentials. */
  readonly url: Sensitive;
  /** The sender, such as `Davit <davit@example.org>`. */
  readonly from: string;
}

export interface VocabularyConfiguration {
  /** For example `/v/public`. */
  readonly basePath: string;
  /** Path of the vocabulary's file; null: the vocabulary that comes with Davit. */
  readonly file: string | null;
}

export interface OidcClient {
  readonly issuer: string;
  readonly clientId: string;
  /** null: a public client, which has only PKCE. */
  readonly clientSecret: Sensitive | null;
}

export interface AcmeConfiguration {
  /** https URL of the ACME directory (RFC 8555, 7.1.1). */
  readonly directory: string;
  readonly email: string | null;
  /** File with root certificates that are trusted for the directory itself, in addition to the usual ones. */
  readonly rootsFile: string | null;
  readonly binding: { readonly keyId: string; readonly hmacKey: Sensitive } | null;
}

/** Returns the folder of the repositories that are pushed to Davit. */
export function gitFolderOf({ gitFolder, stateFolder }: Settings<'gitFolder' | 'stateFolder'>): string {
  return gitFolder ?? path.join(stateFolder, 'git');
}

/** The named settings, as parameter of code that reads no others: `Settings<'publicUrl'>`. */
export type Settings<Name extends keyof Configuration> = Pick<Configuration, Name>;
