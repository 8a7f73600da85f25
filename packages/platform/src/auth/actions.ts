/** Changes of identity, as the audit names them; each is also an event, `auth.` and this. */
export const AUTH_ACTIONS = {
  'server.bootstrap': 'The server was started for the first time and made an organization and a user',
  'organization.create': 'The organization was created',
  'organization.delete': 'An organization was deleted; its events went with it',
  'member.add': 'A user became a member',
  'member.remove': 'A user is no longer a member',
  'user.create': 'A user was created in the organization',
  'user.delete': 'A user that was a member was deleted',
  'node.create': 'A node got an identity',
  'node.delete': 'The identity of a node was deleted',
  'node.enrol': 'A node enrolled itself with a token',
  'service.create': 'A service was created',
  'service.delete': 'A service was deleted',
  'key.add': 'Somebody got a further key',
  'key.delete': 'A key was taken away',
  'group.set': 'A group was created, or its members changed',
  'group.delete': 'A group was deleted',
  'node_group.set': 'A node group was created or changed',
  'node_group.delete': 'A node group was deleted',
  'token.create': 'An enrolment token was made',
  'token.delete': 'An enrolment token was taken back',
  'access_token.create': 'An access token was made',
  'access_token.delete': 'An access token was taken back',
  'event_access.set': 'Event types were restricted to some, or to others than before',
  'event_access.delete': 'Event types are no longer restricted',
} as const;

export type AuthAction = keyof typeof AUTH_ACTIONS;
