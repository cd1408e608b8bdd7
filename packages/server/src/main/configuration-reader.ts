import { isIP } from 'node:net';
import { AppError, Sensitive, type ErrorDetail } from '@davit/base';
import { isHostOrNetwork } from '@davit/base-node';
import { cronFault } from '@davit/engine/port';
import { isTrustworthyAddress } from '../auth/key-set.ts';
import { isVendorRegistry, vendorRegistries, vendorRegistryKinds, type VendorRegistries } from '../vendors.ts';
import { clusterEndpoint, readClusterSettings, type ClusterSettingsTable } from '../cluster-settings.ts';
import {
  addressCertificateModes,
  type AcmeConfiguration,
  type Configuration,
  type DnsChallengeConfiguration,
  type DnsUpdateConfiguration,
  type MailConfiguration,
  type HostPort,
  type TsigKey,
  type VocabularyConfiguration,
} from '../configuration.ts';
import { toHostPort, toTsigKey } from './network-settings.ts';
import { ownVocabulary } from '../vocabulary/file.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads environment variables, and reports all errors at once. */
export class ConfigurationReader {
  readonly #environment: Environment;
  readonly #known = new Set<string>();
  readonly #wrong: ErrorDetail[] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** Returns the variable. An empty one counts as unset: compose files and unit files cannot unset a variable. */
  optional(name: string): string | null {
    this.#known.add(name);
    const value = this.#environment[name];
    return value === undefined || value === '' ? null : value;
  }

  text(name: string, byDefault: string): string {
    return this.optional(name) ?? byDefault;
  }

  secret(name: string): Sensitive | null {
    const value = this.optional(name);
    return value === null ? null : new Sensitive(value);
  }

  token(name: string): Sensitive | null {
    const value = this.secret(name);
    if (value !== null && !/^[\x21-\x7e]{16,512}$/.test(value.reveal())) {
      this.#fault(name, 'must have 16 to 512 printable characters without blanks');
    }
    return value;
  }

  databaseUrl(name: string): Sensitive | null {
    const value = this.secret(name);
    if (value !== null && !/^postgres(ql)?:\/\//.test(value.reveal())) {
      this.#fault(name, 'must begin with postgresql://, as in postgresql://user:password@host:5432/davit');
    }
    return value;
  }

  integer(name: string, byDefault: number, minimum: number, maximum: number): number {
    const value = this.optional(name);
    if (value === null) return byDefault;
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= minimum && number <= maximum) return number;
    this.#fault(name, `must be a whole number from ${minimum} to ${maximum}, not ${JSON.stringify(value)}`);
    return byDefault;
  }

  /** Returns a port, or null if unset. It must differ from the port of the other variable, given with its default. */
  otherPort(name: string, [other, byDefault]: readonly [string, number]): number | null {
    if (this.optional(name) === null) return null;
    const port = this.integer(name, 1, 1, 65_535);
    if (port === this.integer(other, byDefault, 1, 65_535)) this.#fault(name, `must differ from ${other}`);
    return port;
  }

  /** Returns the settings of ACME. Variables: directory, e-mail address, roots, key id and HMAC key of an account. */
  acme(...names: readonly [string, string, string, string, string]): AcmeConfiguration | null {
    const [directoryName, emailName, rootsName, keyName, hmacName] = names;
    const directory = this.address(directoryName);
    const email = this.optional(emailName);
    const rootsFile = this.optional(rootsName);
    const keyId = this.optional(keyName);
    const hmacKey = this.secret(hmacName);
    if (email !== null && !/^[^\s@,]+@[^\s@,]+$/.test(email)) this.#fault(emailName, 'must be an e-mail address');
    if ((keyId === null) !== (hmacKey === null)) {
      this.#fault(keyId === null ? keyName : hmacName, 'is missing: the authority issues both together');
    }
    if (directory === null) return null;
    if (!directory.startsWith('https://')) this.#fault(directoryName, 'must be an https address');
    const binding = keyId === null || hmacKey === null ? null : { keyId, hmacKey };
    return { directory, email, rootsFile, binding };
  }

  truth(name: string, byDefault: boolean): boolean {
    const value = this.optional(name);
    if (value === null) return byDefault;
    if (value === 'true' || value === '1') return true;
    if (value !== 'false' && value !== '0') this.#fault(name, `must be true or false, not ${JSON.stringify(value)}`);
    return false;
  }

  /** Returns true, false, or a comma-separated list of host names, addresses and networks. */
  hostsOrNetworks(name: string, byDefault: boolean): boolean | readonly string[] {
    const value = this.optional(name);
    if (value === null || /^(true|false|0|1)$/.test(value)) return this.truth(name, byDefault);
    const locations = value.split(',').map((location) => location.trim().toLowerCase());
    const wrong = locations.find((location) => !isHostOrNetwork(location));
    if (wrong !== undefined) {
      const forms = 'true, false, or a list as git.home.example,192.168.1.0/24,fd00::7';
      this.#fault(name, `must be ${forms}; ${JSON.stringify(wrong)} is neither a host nor a network`);
    }
    return locations;
  }

  schedule(name: string, byDefault: string): string {
    const value = this.text(name, byDefault);
    const fault = cronFault(value);
    if (fault !== null) this.#fault(name, `${fault}, not ${JSON.stringify(value)}`);
    return value;
  }

  word<const W extends string>(name: string, words: readonly W[], byDefault: W): W {
    const value = this.optional(name);
    if (value === null) return byDefault;
    const found = words.find((word) => word === value);
    if (found === undefined) this.#fault(name, `must be one of ${words.join(', ')}, not ${JSON.stringify(value)}`);
    return found ?? byDefault;
  }

  domain(name: string, byDefault: string): string {
    const value = this.text(name, byDefault).toLowerCase();
    if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(value) || value.length > 180) {
      this.#fault(name, `must be a domain name such as apps.example.org, not ${JSON.stringify(value)}`);
    }
    return value;
  }

  address(name: string): string | null {
    const value = this.optional(name);
    const url = value === null ? null : URL.parse(value);
    if (value !== null && (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')) {
      this.#fault(name, `must be an address such as https://davit.example.org, not ${JSON.stringify(value)}`);
    }
    return value === null ? null : value.replace(/\/+$/, '');
  }

  /**
   * Reads lists, separated by commas or blanks: issuers, audiences, and for each issuer a client id and a secret (`-`:
   * none). An issuer can sign in anybody, so the issuers' URLs must be secure. A client id is an audience, too.
   */
  openIdConnect(
    ...names: readonly [string, string, string, string]
  ): Pick<Configuration, 'oidcIssuers' | 'oidcAudiences' | 'oidcClients'> {
    const [issuerName, audienceName, clientName, secretName] = names;
    const oidcIssuers = this.#list(issuerName);
    const [ids, secrets] = [this.#list(clientName), this.#list(secretName)];
    for (const issuer of oidcIssuers.filter((one) => !isTrustworthyAddress(one) || /[?#]/.test(one))) {
      this.#fault(issuerName, `must be https addresses (http only on this machine), not ${JSON.stringify(issuer)}`);
    }
    if (ids.length > 0 && ids.length !== oidcIssuers.length) {
      this.#fault(clientName, `must have one client id for each issuer of ${issuerName}, in the same order`);
    }
    if (secrets.length > 0 && secrets.length !== ids.length) {
      this.#fault(secretName, `must have one secret for each client id of ${clientName}, in the same order, or - for none`);
    }
    const oidcAudiences = [...new Set([...this.#list(audienceName), ...ids])];
    if (oidcIssuers.length > 0 && oidcAudiences.length === 0) {
      this.#fault(audienceName, 'must name the audience of this API, or tokens for other programs would be accepted too');
    }
    const oidcClients = ids.map((clientId, index) => {
      const secret = secrets[index] ?? '-';
      return { issuer: oidcIssuers[index] ?? '', clientId, clientSecret: secret === '-' ? null : new Sensitive(secret) };
    });
    return { oidcIssuers, oidcAudiences, oidcClients };
  }

  /** Reads how mails are sent. Their links need the public URL: the recipient is at another machine. */
  mail(urlName: string, fromName: string, publicUrl: string | null): MailConfiguration | null {
    const url = this.secret(urlName);
    const from = this.optional(fromName);
    if (url === null) return null;
    const { protocol = '', hostname = '' } = URL.parse(url.reveal()) ?? {};
    if (!/^smtps?:$/.test(protocol) || hostname === '') {
      this.#fault(urlName, 'must begin with smtp:// or smtps://, as in smtps://user:password@mail.example.org');
    }
    if (from === null || !/^([^<>\r\n]*<[^\s@<>]+@[^\s@<>]+>|[^\s@<>]+@[^\s@<>]+)$/.test(from)) {
      this.#fault(fromName, `must be a sender with ${urlName}, such as Davit <davit@example.org>`);
    }
    if (publicUrl === null) this.#fault(urlName, 'needs DAVIT_PUBLIC_URL, since mails contain links');
    return { url, from: from ?? '' };
  }

  #list(name: string): string[] {
    return (this.optional(name) ?? '').split(/[\s,]+/).filter((word) => word !== '');
  }

  /**
   * Returns the origins of web pages (RFC 6454), separated by commas or blanks. Each consists of a scheme, a host and
   * an optional port only.
   */
  origins(name: string): string[] {
    const list = this.#list(name);
    const wrong = list.find((text) => !/^https?:\/\//.test(text) || URL.parse(text)?.origin !== text);
    if (wrong !== undefined) {
      this.#fault(name, `must be origins such as https://console.example.org, without a path, not ${JSON.stringify(wrong)}`);
    }
    return list;
  }

  /** Reads the base path and the file of a vocabulary, as in `/v/public=public`. */
  vocabulary(name: string): VocabularyConfiguration | null {
    const value = this.optional(name);
    if (value === null) return null;
    const [, basePath = '', file = ''] = /^((?:\/[\w.-]+)+)=(.+)$/.exec(value) ?? [];
    if (basePath === '') {
      const forms = 'a base path and a file, as in /v/public=public (the vocabulary of Davit) or /v/own=/etc/davit/words.json';
      this.#fault(name, `must be ${forms}, not ${JSON.stringify(value)}`);
      return null;
    }
    return { basePath, file: file === ownVocabulary ? null : file };
  }

  /** Returns IP addresses with an optional port, separated by commas or blanks. */
  addresses(name: string): string[] {
    const list = this.#list(name);
    const isAddress = (text: string): boolean => {
      const [, six, four] = /^(?:\[(.*)\]|([^:]*))(?::\d{1,5})?$/.exec(text) ?? [];
      return isIP(text) !== 0 || isIP(six ?? '') === 6 || isIP(four ?? '') === 4;
    };
    const wrong = list.find((text) => !isAddress(text));
    if (wrong !== undefined)
      this.#fault(
        name,
        `must be addresses of DNS servers, as in 192.0.2.53 or [2001:db8::53]:5353, not ${JSON.stringify(wrong)}`,
      );
    return list;
  }

  /** Returns IP addresses with ports, separated by commas or blanks; null if unset. */
  hostPorts(name: string): HostPort[] | null {
    if (this.optional(name) === null) return null;
    return this.#list(name).flatMap((text) => {
      const host = toHostPort(text, null);
      if (host !== null) return [host];
      this.#fault(name, `must be addresses with ports, as in 10.0.0.5:4440 or [2001:db8::5]:4440, not ${JSON.stringify(text)}`);
      return [];
    });
  }

  /** Returns which server accepts dynamic updates; null if unset. Variables: server, zone and key. */
  dnsUpdate(serverName: string, zoneName: string, keyName: string): DnsUpdateConfiguration | null {
    const server = this.#dnsServer(serverName);
    const zone = this.optional(zoneName) === null ? null : this.domain(zoneName, '');
    const key = this.#tsigKey(keyName);
    if (server !== null) return { server, zone, key };
    if (zone !== null || key !== null) this.#fault(serverName, 'is missing: it is the server that is updated');
    return null;
  }

  /** Returns how records for DNS challenges are created. Variables: a program instead of updates, seconds to wait. */
  dnsChallenge(programName: string, waitName: string, update: DnsUpdateConfiguration | null): DnsChallengeConfiguration | null {
    const program = this.optional(programName);
    const waitSeconds = this.integer(waitName, 10, 0, 3600);
    if (update !== null && program !== null) this.#fault(programName, 'cannot be used with a server for updates');
    if (update !== null) return { by: update, waitSeconds };
    return program === null ? null : { by: { program }, waitSeconds };
  }

  /** Returns the address of a DNS server; null if unset. The port is 53 by default. */
  #dnsServer(name: string): HostPort | null {
    const value = this.optional(name);
    const host = value === null ? null : toHostPort(value, 53);
    if (value !== null && host === null) {
      this.#fault(name, `must be an address, as in 192.0.2.53 or [2001:db8::53]:5353, not ${JSON.stringify(value)}`);
    }
    return host;
  }

  /** Returns a key of TSIG; null if unset. The form is that of `nsupdate -y`. The message does not repeat the key. */
  #tsigKey(name: string): TsigKey | null {
    const value = this.optional(name);
    const key = value === null ? null : toTsigKey(value);
    if (value !== null && key === null) {
      this.#fault(
        name,
        'must be algorithm:name:secret; the algorithm is hmac-sha256, hmac-sha384 or hmac-sha512, the secret is in base64',
      );
    }
    return key;
  }

  /** Returns which certificates the addresses of services get. Default: one for all if Davit can change DNS. */
  addressCertificates(
    name: string,
    { acme, dnsChallenge, gatewayDomain }: Pick<Configuration, 'acme' | 'dnsChallenge' | 'gatewayDomain'>,
  ): Configuration['addressCertificates'] {
    const mode = this.word(name, addressCertificateModes, dnsChallenge === null ? 'none' : 'wildcard');
    if (mode === 'none' || acme === null) return mode;
    if (gatewayDomain === 'localhost' || gatewayDomain.endsWith('.localhost')) {
      this.#fault(name, 'needs a domain of yours: set DAVIT_GATEWAY_DOMAIN');
    } else if (mode === 'wildcard' && dnsChallenge === null) {
      this.#fault(name, 'can be wildcard only with DAVIT_DNS_UPDATE_SERVER or DAVIT_DNS_PROGRAM; otherwise choose each');
    }
    return mode;
  }

  prefix(name: string, byDefault: string): string {
    const value = this.text(name, byDefault);
    if (!/^[A-Z][A-Z0-9]{0,30}$/.test(value)) this.#fault(name, 'must be 1 to 31 capital letters and digits');
    return value;
  }

  /** Returns the registries of cloud vendors. Format: `HUBA_CR=https://mirror.example.org,…` */
  vendorRegistries(name: string): VendorRegistries {
    const table = { ...vendorRegistries };
    for (const entry of (this.optional(name) ?? '').split(',')) {
      if (entry.trim() === '') continue;
      const [kind = '', url = ''] = entry.split(/=(.*)/s, 2).map((part) => part.trim());
      if (isVendorRegistry(kind) && /^https:\/\/[a-z0-9.-]+(:\d+)?$/.test(url)) table[kind] = { ...table[kind], url, api: url };
      else
        this.#fault(
          name,
          `must list ${vendorRegistryKinds.join(', ')} with an https URL, as in HUBA_CR=https://mirror.example.org`,
        );
    }
    return table;
  }

  /**
   * Reads the file with the settings of clusters.
   *
   * @param gateway Name and default of the variable with the gateway's domain, which no cluster may use.
   */
  clusterSettings(name: string, gateway: readonly [string, string]): ClusterSettingsTable {
    const file = this.optional(name);
    if (file === null) return {};
    const { table, fault } = readClusterSettings(file);
    if (fault !== null) this.#fault(name, fault);
    const domain = this.domain(...gateway);
    const taken = Object.keys(table).find((id) => clusterEndpoint(table, id)?.domain === domain);
    if (taken !== undefined)
      this.#fault(name, `has an address of cluster ${taken} in ${domain}, which is the domain of the gateway`);
    return table;
  }

  finish(): void {
    if (this.#wrong.length === 0) return;
    const lines = this.#wrong.map(({ path: name, message }) => `  ${name} ${message}`);
    throw new AppError({
      code: 'CONFIGURATION_INVALID',
      message: `The configuration is invalid:\n${lines.join('\n')}\ndocs/operate.md lists all variables.`,
      errors: this.#wrong,
    });
  }

  unknown(): string[] {
    return Object.keys(this.#environment).filter((name) => name.startsWith('DAVIT_') && !this.#known.has(name));
  }

  #fault(name: string, message: string): void {
    this.#wrong.push({ path: name, message });
  }
}
