import { meaningOf } from './meanings.ts';

/*
 * An API server that answers may still be able to do nothing: it has lost its storage, or what answers stands before it. That is a cluster that is
 * away. A server asks others in turn, and passes on what they say; that one of these is away says nothing of the cluster.
 */

/** What is asked of the node of a pod. */
const ofNode = /\/pods\/[^/]+\/(?:log|exec)$/;
/**
 * Groups of APIs that the server answers by itself: its own, and those of CustomResourceDefinitions that Davit works with. Metrics, and what a chart
 * may name, can be another server's behind it (https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/).
 */
const ofServer = /^\/apis\/(?:[^./]+|(?!(?:[^/]+\.)?metrics\.)[^/]+\.k8s\.io|davit\.dev|keda\.sh|upgrade\.cattle\.io)\//;
/** Its storage does not answer. The other words of etcd refuse a request, or want an operator. */
const withoutStorage = /etcdserver: (?!request is too large|mvcc: )|rpc error: code = Unavailable/;

interface Asked {
  readonly method: string;
  readonly path: string;
}

/** Whether a request leads through the API server to the node of a pod. Pure. */
export function asksNode(path: string): boolean {
  return ofNode.test(path);
}

/** What a write is answered whose webhooks have used up its time, each of which may be passed over. */
const outOfTime = /^Timeout: request did not complete/;

/** Whether a refusal is that of a server that can do nothing. Pure. */
export function tellsAbsence({ method, path }: Asked, status: number, words: string): boolean {
  const isOwn = !asksNode(path) && (!path.startsWith('/apis/') || ofServer.test(path));
  if (!isOwn || meaningOf(words) !== null || (method !== 'GET' && outOfTime.test(words))) return false;
  return (status >= 502 && status <= 504) || (status === 500 && withoutStorage.test(words));
}
