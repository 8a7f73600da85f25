import { declareErrors } from '@muster/base/errors';
import '@muster/fabric/errors';
import '@muster/signing/errors';
import '@muster/store/errors';

/** The errors of callers, their rights and their requests. */
export const PLATFORM_ERRORS = declareErrors({
  no_leader: {
    status: 503,
    exit: 5,
    message: 'no server of the cluster leads at the moment',
    fix: 'Nothing was changed. Another server takes over within seconds: try again. If it stays so, see the logs of the servers, and whether they reach the database.',
  },
  cluster_server_not_found: {
    status: 404,
    exit: 4,
    message: "no server of the cluster is called '{name}'",
    fix: 'See `muster cluster status` for their names.',
  },
  cluster_leaderless: {
    status: 409,
    exit: 2,
    message: "no other server of the cluster could lead in the place of '{name}'",
    fix: 'Start another one, or undrain one (muster cluster undrain); then drain this one.',
  },
  not_in_cluster: {
    status: 409,
    exit: 2,
    message: 'this server is alone: it is not in a cluster',
    fix: 'Start it with --cluster, a --database-url and a --name of its own (docs/guide/cluster.md).',
  },
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
    message:
      "'{name}' came with an access token, or from a browser; this needs a signed request, as it changes who may do what",
    fix: 'Sign with a key of a user or service: give the CLI a key instead of a token.',
  },
  key_expired: {
    listed: true,
    status: 401,
    exit: 3,
    message: "the key of '{name}' that signed this expired at {at}",
    fix: 'Sign with another key of it. Has it none: an admin adds one, `muster {kind} add-key {name} --public-key FILE`.',
  },
  key_revoked: {
    listed: true,
    status: 403,
    exit: 3,
    message: 'the key {fingerprint} was revoked at {at}{reason}',
    fix: 'Make a new key. Was it revoked by mistake: `muster key unrevoke {fingerprint}`, with `--server` if it is on the list of the server; then try again.',
  },
  invalid_token: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'the token is unknown, used up or expired',
    fix: 'Make a new one: `muster token create` for an agent, `muster access-token create` for a script, `muster login` for a person.',
  },
  invalid_jwt: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'the token is not accepted: {reason}',
    fix: 'Log in again for a new one. What is taken here: `muster issuer list`; another claim for the user: `muster issuer set NAME --user-claim CLAIM`.',
  },
  jwt_for_other: {
    listed: true,
    status: 401,
    exit: 3,
    message: "the token is not accepted: its audience (aud) is {given}, and not '{expected}'",
    fix: "Have issuer '{name}' make tokens for '{expected}', or, as an administrator, say which it makes: `muster issuer set {name} {flag} AUD`.",
  },
  sign_in_not_offered: {
    status: 404,
    exit: 4,
    message: "nobody signs in to organization '{organization}'{where}",
    fix: '{hint} Administrators: `muster issuer create NAME --oidc URL --client-id ID`.',
  },
  sign_in_unknown_user: {
    status: 403,
    exit: 3,
    message: "'{name}' cannot sign in to organization '{organization}': {reason}",
    fix: 'An administrator makes the user (`muster user create`) or invites it (`muster org invite`), or lets users be made: `muster issuer set ISSUER --create-users`.',
  },
  sign_in_refused: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'the name or the password is wrong',
    fix: 'Try again. Administrators see why in the audit: `muster audit --action login.refuse`.',
  },
  sign_in_expired: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'the sign-in took longer than ten minutes, was begun in another browser, or is over',
    fix: 'Begin it again, on the sign-in page of the console.',
  },
  sign_in_denied: {
    status: 403,
    exit: 3,
    message: "issuer '{name}' has signed nobody in: {reason}",
    fix: 'Begin again on the sign-in page of the console, and agree to it at the provider. If it still refuses, ask whoever runs the provider.',
  },
  provider_unavailable: {
    status: 503,
    exit: 5,
    message: "nobody can be signed in at issuer '{name}' now",
    fix: 'Try again in a moment. Administrators find the reason in the log of the server.',
  },
  sign_in_throttled: {
    status: 429,
    exit: 5,
    message: 'somebody has tried to sign in {who} too often',
    fix: 'Wait {seconds} s, then try again.',
  },
  sign_in_unclear: {
    status: 400,
    exit: 2,
    message: 'people sign in here at several directories: {issuers}',
    fix: 'Say at which: `issuer`.',
  },
  directory_unavailable: {
    status: 503,
    exit: 5,
    message: "the directory of issuer '{name}' cannot be asked",
    fix: 'Try again in a moment. Administrators see why: `muster issuer test {name}`.',
  },
  directory_test_failed: {
    status: 503,
    exit: 5,
    message: "the directory of issuer '{name}' cannot be asked: {reason}",
    fix: 'Mend that there, or what is said of it here: `muster issuer set {name}`. Then try again.',
  },
  signed_in_elsewhere: {
    listed: true,
    status: 403,
    exit: 3,
    message: "'{name}' has signed in to organization '{organization}', which is good within it alone",
    fix: 'Ask below /organizations/ORG of that one, sign in to the other one, or sign with a key.',
  },
  not_signed_in: {
    status: 409,
    exit: 1,
    message: "'{name}' has not signed in for this request, but has a key or an access token",
    fix: 'Access tokens end with `muster access-token rm ID`, keys with `muster user rm-key`.',
  },
  invalid_link: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'the link is unknown, used up, or more than a minute old',
    fix: 'Make a new one: `muster console`.',
  },
  session_ended: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'nobody is signed in here any more: the session has ended',
    fix: 'Sign in again: `muster console`, or with an access token.',
  },
  session_not_enough: {
    status: 403,
    exit: 3,
    message: "'{name}' is signed in by a browser, which signs nobody in elsewhere",
    fix: 'Use a key or an access token: `muster console`.',
  },
  not_a_user: {
    status: 403,
    exit: 3,
    message: "'{name}' is a {type}: only users sign in to the console",
    fix: 'Use a key or an access token of a user.',
  },
  cross_site_request: {
    status: 403,
    exit: 3,
    message: 'this is taken from pages of this server alone, and the request comes from {from}',
    fix: 'Programs send a signature or an access token and no cookie. Is a proxy in front: let it hand on Host, Origin and Sec-Fetch-Site as they are.',
  },
  login_missing: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'nothing says who sends this request',
    fix: 'Send `Authorization: Bearer TOKEN`, with an access token or a token of an issuer, or sign the request.',
  },
  tenant_unclear: {
    listed: true,
    status: 400,
    exit: 2,
    message: "'{name}' belongs to {number} organizations, and nothing says which is meant",
    fix: 'Use a token of one, `muster access-token create --organization ORG`, or the path below /organizations/ORG.',
  },
  issuer_unavailable: {
    status: 503,
    exit: 5,
    message: "the keys of issuer '{name}' cannot be had: {reason}",
    fix: 'Try again in a moment. If it lasts, see whether this server reaches the issuer.',
  },
  issuer_taken: {
    status: 409,
    exit: 1,
    message: "tokens of issuer '{name}' are known by what another one's are known by",
    fix: 'Give it an audience of its own. A token is good in one organization.',
  },
  rate_limited: {
    status: 429,
    exit: 5,
    message: '{who} makes more than {limit} requests a second',
    fix: 'Wait {seconds} s, then go on slower: lists come in pages, and many tasks in one request. Administrators: `limits` in the settings of the server.',
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
  server_key_announced: {
    status: 409,
    exit: 1,
    message: 'the next key of the server is announced already, and takes over at {at}',
    fix: 'Wait for it, or take it back: `muster server-key cancel`. If the present key is no secret any more: `muster server-key rotate --revoke`.',
  },
  no_server_key_announced: {
    status: 409,
    exit: 1,
    message: 'no next key of the server is announced',
    fix: 'See `muster server-key status`. A key that has taken over is replaced by another one: `muster server-key rotate`.',
  },
  too_many_server_keys: {
    status: 409,
    exit: 1,
    message: 'the key of the server was replaced {limit} times already',
    fix: 'Replace it less often. A key that is no secret any more can always be replaced: `muster server-key rotate --revoke`.',
  },
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
  secret_key_unusable: {
    status: 500,
    exit: 2,
    message: 'the key that seals secrets cannot be used: {from}: {reason}',
    fix: 'Mend secrets.key_command if there is one: it comes first. Otherwise give the key file of the server, which nobody but its owner may read: `muster server --jobs-secret-key-file FILE`, `muster worker run --secret-key-file FILE` (readers the same), or jobs.secret_key_file in their settings.',
  },
  secret_unreadable: {
    status: 503,
    exit: 5,
    message: 'what is sealed for {owner} cannot be opened: {reason}',
    fix: 'Give this process the key it was sealed with, or set the secret again.',
  },
  secret_unavailable: {
    status: 503,
    exit: 5,
    message: "the provider {provider} does not give the secret '{secret}': {reason}",
    fix: 'Mend it there, or its settings (secrets.providers of the server); or name another: `muster secret set {secret}`.',
  },
  secret_not_own: {
    status: 403,
    exit: 3,
    message: "{name} may not change the secret '{secret}'",
    fix: 'Its owner, or an admin, changes and removes it, and says who may use it: that does not let them change it. Choose another name for a secret of your own. A secret that is not there is refused alike.',
  },
  secret_forbidden: {
    status: 403,
    exit: 3,
    message: "{name} may not use the secret '{secret}'",
    fix: 'Its owner, or an admin, lets them: `muster secret grant {secret} --user {name}`. A secret that is not there is refused alike.',
  },
});

type Rows = typeof PLATFORM_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
