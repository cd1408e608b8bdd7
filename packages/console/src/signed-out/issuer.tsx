import { useEffect, useRef, type ReactNode } from 'react';
import { clientOf } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { beginWithCookie } from '../session.ts';
import { CardPage, useAction } from './card-page.tsx';

/** The page at which a person wanted to arrive, until the issuer has led the browser back. */
const returnKey = 'davit.place';

/** One button for each issuer: it leads to the issuer's own sign-in page. */
export function IssuerButtons({ issuers }: { readonly issuers: readonly string[] }): ReactNode {
  const { isBusy, wrong, run } = useAction();
  const leave = async (issuer: string): Promise<void> => {
    const { url } = await clientOf(null).call('createIssuerSignIn', { body: { issuer } });
    sessionStorage.setItem(returnKey, location.pathname + location.search + location.hash);
    location.assign(url);
  };
  return (
    <>
      {issuers.map((issuer) => (
        <Button
          key={issuer}
          icon="person"
          onClick={() => run(() => leave(issuer))}
          refusal={isBusy ? 'The server is asked.' : null}
        >
          Continue with {new URL(issuer).host}
        </Button>
      ))}
      {wrong !== null && (
        <div className="wrong" role="alert">
          {wrong}
        </div>
      )}
    </>
  );
}

/** Finishes the sign-in, where the issuer leads the browser back to. */
export function IssuerReturn(): ReactNode {
  const { wrong, run } = useAction();
  const isSent = useRef(false);
  useEffect(() => {
    // React runs effects twice while the console is developed; the answer of the issuer is accepted once.
    if (isSent.current) return;
    isSent.current = true;
    const response = location.search.slice(1);
    // The code must not stay in the history of the browser.
    history.replaceState(null, '', location.pathname);
    run(async () => {
      const { session_id: id } = await clientOf(null).call('completeIssuerSignIn', { body: { response } });
      beginWithCookie(id);
      location.replace(takeReturnAddress());
    });
  });
  return (
    <CardPage title={wrong === null ? 'Signing in…' : 'You are not signed in'}>
      {wrong !== null && (
        <>
          <div className="wrong" role="alert">
            {wrong}
          </div>
          <Button look="main" onClick={() => location.replace('/console/')}>
            Back to the sign-in
          </Button>
        </>
      )}
    </CardPage>
  );
}

/** Returns the page of the console to go to. Addresses of other places are not kept. */
function takeReturnAddress(): string {
  const returnAddress = sessionStorage.getItem(returnKey) ?? '';
  sessionStorage.removeItem(returnKey);
  return returnAddress.startsWith('/console/') ? returnAddress : '/console/';
}
