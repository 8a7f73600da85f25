import { declareErrors } from '@muster/base/errors';
import '@muster/fabric/errors';
import '@muster/signing/errors';
import '@muster/store/errors';

/** The errors of callers, their rights and their requests. */
export const PLATFORM_ERRORS = declareErrors({
  not_associated: {
    listed: true,
    status: 403,
    exit: 3,
    message: "'{name}' is not associated with organization '{organization}'",
    fix: 'Ask an admin of it for an invitation, `muster org invite NAME`, and accept it: `muster org accept ORG`. Server administrators add themselves: `MUSTER_ORG=ORG muster org add-user NAME`.',
  },
  user_exists: {
    status: 409,
    exit: 1,
    message: "user '{name}' already exists",
    fix: 'If it is who you mean, invite it: `muster org invite {name}`. Otherwise choose another name.',
  },
  already_member: {
    status: 409,
    exit: 1,
    message: "'{name}' already belongs to the organization",
    fix: 'Give it rights by groups: `muster group add GROUP --user {name}`.',
  },
  already_invited: {
    status: 409,
    exit: 1,
    message: "'{name}' has already been invited and has not answered yet",
    fix: 'Wait for `muster org accept`, or take the invitation back: `muster org uninvite {name}`.',
  },
  group_name_unlikely: {
    status: 400,
    exit: 2,
    message: "no role is called '{name}': did you mean '{role}'?",
    fix: "Name the group '{role}', or say that '{name}' is meant: force=true.",
  },
  name_not_enrollable: {
    listed: true,
    status: 403,
    exit: 3,
    message: "'{name}' cannot be enrolled: {reason}",
    fix: 'Choose another node name, or have an admin register the node with its key.',
  },
  signature_required: {
    listed: true,
    status: 403,
    exit: 3,
    message: "'{name}' came with an access token; this needs a signed request, as it changes who may do what",
    fix: 'Sign with a key of a user or service: give the CLI a key instead of a token.',
  },
  invalid_token: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'the token is unknown, used up or expired',
    fix: 'Make a new one: `muster token create` for an agent, `muster access-token create` for a person or script.',
  },
  route_not_found: { status: 404, exit: 4, message: 'no such route: {path}', fix: 'See /docs for the routes.' },
  range_not_satisfiable: {
    status: 416,
    exit: 2,
    message: 'no byte of it is in the range {range}: it has {size}',
    fix: 'Ask for a range that begins before its end.',
  },
  upgrade_required: {
    status: 426,
    exit: 2,
    message: '{path} is a WebSocket',
    fix: 'Connect to it as ws:// or wss://, with a subprotocol of STOMP: v12.stomp.',
  },
  unsupported_media_type: {
    status: 415,
    exit: 2,
    message: 'the body must be JSON',
    fix: 'Send `Content-Type: application/json`.',
  },
  invalid_json: { status: 400, exit: 2, message: 'the body is not valid JSON: {reason}', fix: 'Send one JSON object.' },
  in_use: {
    status: 409,
    exit: 1,
    message: "{kind} '{name}' cannot be deleted: {reason}",
    fix: 'Resolve that first, then delete it.',
  },
  insecure_listen: {
    status: 500,
    exit: 2,
    message: 'refusing to listen on {address} without TLS',
    fix: 'Give --tls-cert and --tls-key, or accept plain HTTP with --insecure-http.',
  },
  insecure_disbatch: {
    status: 500,
    exit: 2,
    message: 'refusing to serve the command interface on {address} without TLS',
    fix: 'Give --disbatch-tls-cert and --disbatch-tls-key, or accept plain HTTP with --insecure-disbatch.',
  },
  node_name_mismatch: {
    listed: true,
    status: 403,
    exit: 3,
    message: 'Client and node name must match',
    fix: 'A node may only ask for its own configuration.',
  },
  signing_version_too_old: {
    listed: true,
    status: 400,
    exit: 3,
    message: 'Unsupported authentication protocol version',
    fix: 'This server takes version {least} and later in X-Ops-Sign (auth.min_signing).',
  },
  query_not_signed: {
    status: 401,
    exit: 3,
    message: "The query parameter '{parameter}' is not covered by the signature of user or client '{name}'",
    fix: 'Sign the query with version 1.3 and the header X-Muster-Query-Hash (docs/reference/rest.md), or use the muster CLI.',
  },
  query_changed: {
    status: 401,
    exit: 3,
    message: "The signature of user or client '{name}' was used before, with another query",
    fix: 'Sign each request anew. If you did, somebody repeats your requests: use TLS.',
  },
});

type Rows = typeof PLATFORM_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
