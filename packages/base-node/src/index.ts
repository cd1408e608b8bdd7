export { isHostOrNetwork, isPrivateAddress, reachable, type MayReach } from './http/addresses.ts';
export { PrivateTarget, publicLookup } from './http/public-lookup.ts';
export { bodyOf, chunksOf, isSevered, OversizedResponse, SeveredResponse, send, startOf, type HttpRequest } from './http/send.ts';
export { openConnection, type Connection, type ConnectionInput, type TlsSettings } from './http/connection.ts';
export { call, HttpRefusal, stream, wordsOf, type JsonAnswer, type JsonApi, type JsonRequest } from './http/json-api.ts';
export { inPieces, openPiece, sealPieces, tagBytes, type PieceName, type StreamKey } from './sealed-pieces.ts';
