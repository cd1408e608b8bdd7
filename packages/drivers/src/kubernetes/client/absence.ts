import { meaningOf } from './meanings.ts';

/*
 * An API server that responds may still be unable to do anything: it has lost its storage, or a proxy in front of it
 * responds in its place. Such a cluster counts as unreachable. An API server also calls other servers and passes on
 * their responses. An unreachable server among these says nothing about the cluster itself.
 */

/** Paths of requests that the API server forwards to the node of a pod. */
const ofNode = /\/pods\/[^/]+\/(?:log|exec)$/;
/**
 * API groups that the API server serves itself: its built-in groups and those of CustomResourceDefinitions that Davit
 * uses. Metrics, and groups that a chart may name, can be served by another server behind it
 * (https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/).
 */
const ofServer = /^\/apis\/(?:[^./]+|(?!(?:[^/]+\.)?metrics\.)[^/]+\.k8s\.io|davit\.dev|keda\.sh|upgrade\.cattle\.io)\//;
/**
 * Messages of an API server whose storage does not respond. Other messages of etcd reject a request or need an
 * operator.
 */
const withoutStorage = /etcdserver: (?!request is too large|mvcc: )|rpc error: code = Unavailable/;

interface ApiRequest {
  readonly method: string;
  readonly path: string;
}

/** Returns whether the API server forwards a request to the node of a pod. Pure. */
export function asksNode(path: string): boolean {
  return ofNode.test(path);
}

/** Message for a write whose webhooks have used up its time. Each of these webhooks may be optional. */
const outOfTime = /^Timeout: request did not complete/;

/** Returns whether a refusal comes from a server that cannot do anything. Pure. */
export function isNotFound({ method, path }: ApiRequest, status: number, words: string): boolean {
  const isOwn = !asksNode(path) && (!path.startsWith('/apis/') || ofServer.test(path));
  if (!isOwn || meaningOf(words) !== null || (method !== 'GET' && outOfTime.test(words))) return false;
  return (status >= 502 && status <= 504) || (status === 500 && withoutStorage.test(words));
}
