import { Sensitive } from '@davit/base';
import { isAbsolute } from 'node:path';
import { DriverError } from '../errors.ts';
import type { GitSource } from '../source-driver.ts';

/** A repository's address in the form for git: without credentials, and with an allowed transport. */
export interface Repository {
  /** Safe for logs and for an argument vector. */
  readonly url: string;
  readonly isLocal: boolean;
  /**
   * True if this installation keeps the repository. Its own objects are read from the disk; everything that it refers
   * to, such as submodules, is treated as that of any other repository.
   */
  readonly isOwn?: true;
  /** `https://host:port`, the only origin that gets the credentials; '' for a local repository. */
  readonly origin: string;
  readonly credentials: { readonly username: string; readonly password: Sensitive } | null;
  /** Limit of the disk space of a checkout. */
  readonly maximumBytes: number;
}

/** Returns the address to show: the folder of a repository that this installation keeps is nobody's business. */
export function shownUrl({ url, isOwn }: Pick<Repository, 'url' | 'isOwn'>): string {
  return isOwn === true ? 'davit:' : url;
}

export interface RepositoryRules {
  readonly allowLocal: boolean;
  readonly maximumBytes: number;
}

/**
 * Parses a repository's URL. Accepts only http, https and, if allowed, paths and file URLs. Other transports of git
 * start programs (`ext::`, ssh) or have neither encryption nor authentication (`git:`). Credentials are removed from
 * the URL, so that they reach neither an argument vector nor a message.
 */
export function parseRepository(
  source: Pick<GitSource, 'url' | 'credentials'>,
  { allowLocal, maximumBytes }: RepositoryRules,
): Repository {
  const text = source.url.trim();
  if (text === '' || text.length > 2048 || hasControlCharacter(text))
    throw unusable('The URL of the git repository is not valid.');
  if (isLocalAddress(text))
    return { url: localUrl(text, allowLocal), isLocal: true, origin: '', credentials: null, maximumBytes };
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw unusable(`The git repository ${withoutUserinfo(text)} is not an http or https URL.`);
  }
  const inUrl =
    url.username === '' && url.password === ''
      ? null
      : { username: decode(url.username), password: new Sensitive(decode(url.password)) };
  url.username = '';
  url.password = '';
  url.hash = '';
  if (source.credentials !== undefined) refuseOtherHost(url, source.credentials.hosts);
  const credentials = source.credentials ?? inUrl;
  if (credentials && [credentials.username, credentials.password.reveal()].some(hasControlCharacter)) {
    throw unusable('The git credentials contain a line break or another control character.', 'Enter the git token again.');
  }
  return { url: url.href, isLocal: false, origin: url.origin, credentials, maximumBytes };
}

/** Returns whether git accepts this as a branch name: the rules of `git check-ref-format`, and no leading dash. */
export function isBranchName(name: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what git forbids here
  if (name === '' || name.length > 250 || /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|\.lock(\/|$)/.test(name)) return false;
  return !/^[-/]|\/$|\.$/.test(name) && !name.split('/').some((part) => part.startsWith('.')) && name !== '@';
}

function refuseOtherHost({ hostname }: URL, hosts: readonly string[]): void {
  if (hosts.includes(hostname)) return;
  const location = hosts.length === 0 ? 'an unknown host' : hosts.join(' and ');
  throw new DriverError({
    cause: 'GIT_ACCESS_DENIED',
    message: `The git token is for ${location} and is not sent to ${hostname}.`,
    hint: `Use a git token that is for ${hostname}: create one whose git_api_url is https://${hostname}, or edit this one, with its token again.`,
  });
}

function localUrl(text: string, allowLocal: boolean): string {
  if (!allowLocal) {
    throw new DriverError({
      cause: 'GIT_LOCAL_FORBIDDEN',
      message: `The git repository ${text} is a path of this machine, and those are not allowed.`,
    });
  }
  const path = text.startsWith('file:') && URL.canParse(text) ? decode(new URL(text).pathname) : text;
  if (!isAbsolute(path)) throw unusable(`The git repository ${text} is not an absolute path.`, 'Use an absolute path.');
  // A URL makes git use its transport: a bare path is cloned by hard links and ignores --depth.
  return `file://${path}`;
}

function isLocalAddress(text: string): boolean {
  return /^([/.~]|file:)/i.test(text);
}

function unusable(message: string, hint = 'Use the https URL of the repository.'): DriverError {
  return new DriverError({ cause: 'GIT_UNREACHABLE', message, hint });
}

function withoutUserinfo(text: string): string {
  return text.replace(/\/\/[^/@]*@/, '//');
}

function hasControlCharacter(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- a line break would end a line of git's credential protocol or configuration
  return /[\u0000-\u001f\u007f]/.test(text);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A lone `%` means that the text was not encoded.
  }
}
