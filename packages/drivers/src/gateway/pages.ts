/** HTML pages that replace the gateway's own responses to browsers. Programs get JSON. */
export interface ErrorPages {
  /** 404: no service has this host and path. */
  readonly notFound?: string;
  /** 503: the service has no running instance. */
  readonly unavailable?: string;
}

/** The gateway's own responses, by name of the page. */
export interface Page {
  readonly status: number;
  readonly html: string;
  readonly json: string;
}

export function toPages(custom: ErrorPages): { readonly notFound: Page; readonly unavailable: Page } {
  const notFound = {
    title: 'No service answers at this address',
    text: 'The gateway works, but no service is published under this host and path. Check the address, and that the service is deployed and its port is publicly accessible.',
  };
  const unavailable = {
    title: 'The service has no running instance',
    text: 'This address belongs to a service that is stopped, starting, or failed. Its deployment status and logs say which.',
  };
  return {
    notFound: { status: 404, html: custom.notFound ?? toHtml(404, notFound), json: toJson(404, notFound) },
    unavailable: { status: 503, html: custom.unavailable ?? toHtml(503, unavailable), json: toJson(503, unavailable) },
  };
}

/**
 * Responses that HAProxy makes in the middle of a request. It cannot check there what the client accepts: all clients
 * get JSON.
 */
export const failures: readonly { readonly status: number; readonly json: string }[] = [
  {
    status: 502,
    json: toJson(502, {
      title: 'The service sent no valid answer',
      text: 'The instance closed the connection without a valid answer.',
    }),
  },
  {
    status: 503,
    json: toJson(503, { title: 'The service cannot be reached', text: 'No instance of the service accepts connections.' }),
  },
  {
    status: 504,
    json: toJson(504, {
      title: 'The service did not answer in time',
      text: 'The instance accepted the request but sent no answer.',
    }),
  },
];

interface Words {
  readonly title: string;
  readonly text: string;
}

function toJson(status: number, words: Words): string {
  return JSON.stringify({ status, error: words.title, message: words.text });
}

function toHtml(status: number, words: Words): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${status} ${words.title}</title>
<style>body{font:1.1em/1.5 system-ui,sans-serif;max-width:34em;margin:15vh auto;padding:0 1em;color-scheme:light dark}</style>
<h1>${words.title}</h1>
<p>${words.text}</p>
</html>
`;
}
