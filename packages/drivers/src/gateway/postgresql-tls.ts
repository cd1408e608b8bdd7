/*
 * TLS within the protocol of PostgreSQL: https://www.postgresql.org/docs/current/protocol-flow.html ("SSL Session
 * Encryption"). All clients but those with `sslnegotiation=direct` first send a request of eight bytes, wait for one
 * byte, and begin with TLS if the byte is `S`. HAProxy answers the request by a script in Lua, and its terminator
 * of TLS, which has the certificates, gets the bytes that follow.
 */

export const tlsRequestScript = 'postgresql-tls.lua';

/** The request for TLS (SSLRequest): its length, and a number that is no version of the protocol. */
const tlsRequest = '0000000804d2162f';
/** The request for encryption by Kerberos (GSSENCRequest). A client that is refused it asks for TLS next. */
const kerberosRequest = '0000000804d21630';
const requested = 'txn.davit_tls';

/**
 * The script. It removes exactly the request, so whatever an attacker appended to it reaches the terminator, which
 * accepts only TLS, and never the database (as in CVE-2021-23214).
 */
export const tlsRequestScriptText = `-- Written by Davit; changes made by hand are overwritten.
core.register_action("davit-postgresql-tls", { "tcp-req" }, function(txn)
  local isTls = txn.req:data(0, 8) == "${escaped(tlsRequest)}"
  txn.req:remove(0, 8)
  if isTls then txn:set_var("${requested}", true) end
  txn.res:send(isTls and "S" or "N")
end, 0)
`;

/**
 * Returns the rules that answer a request for TLS, and the rule that leads its client to the backend `terminator`. The
 * request cannot be mistaken for another protocol: messages of MongoDB are longer, and those of Redis contain no zero.
 * The first byte is compared alone, because the comparison of eight bytes waits for eight bytes.
 */
export function tlsRequestRules(terminator: string): readonly [answering: string, taking: string] {
  const isRequested = `{ var(${requested}) -m found }`;
  const isRequest = `{ req.payload(0,1) -m bin 00 } { req.payload(0,8) -m bin ${tlsRequest} ${kerberosRequest} }`;
  return [
    `  tcp-request content lua.davit-postgresql-tls if !${isRequested} ${isRequest}\n`,
    `  use_backend ${terminator} if ${isRequested}\n`,
  ];
}

/** Returns the bytes as escapes of a string in Lua. */
function escaped(hexadecimal: string): string {
  return [...Buffer.from(hexadecimal, 'hex')].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}
