/** Limits of identities and what belongs to them. Times are milliseconds unless they say seconds. */
export const AUTH_LIMITS = {
  keysPerPrincipal: 10,
  /** Most revoked keys of an organization, or of the server; of one request; and characters of a reason. */
  revokedKeys: 100_000,
  revokedAtOnce: 500,
  revocationReason: 200,
  keyPage: 1000,
  keyPageMost: 10_000,
  /** Seconds: ten years. */
  keyTtl: 315_360_000,
  /** Members of one group, nodes of one node group. */
  groupMembers: 20_000,
  groupsPerOrganization: 1000,
  tokensPerOrganization: 1000,
  accessTokensPerPrincipal: 100,
  invitationsPerOrganization: 1000,
  /** Seconds: 14 days. */
  invitationTtl: 1_209_600,
  enrolUses: 1_000_000,
  /** Seconds: one year. */
  tokenTtl: 31_536_000,
  /** Seconds: 30 days, of an access token when nobody says. */
  defaultTokenTtl: 2_592_000,
  tokenBytes: 32,
  /** A link that signs somebody in to the console is good for so long; so many of one user at once. */
  linkMs: 60_000,
  linksPerPrincipal: 20,
  /** A session of the console ends after so long in all, and so long after the last request. */
  sessionMs: 43_200_000,
  sessionIdleMs: 1_800_000,
  sessionsPerPrincipal: 100,
  /** Between two times that signs of life of sessions are stored, and of how many they are kept until then. */
  sessionsEveryMs: 60_000,
  sessionsSeen: 10_000,
  /** With a ticket the page of a session logs in to the event fabric: within so long, and with so many at once. */
  ticketMs: 30_000,
  ticketsPerSession: 100,
  /** Between two attempts to look at what open answers stand on, when it could not be read. */
  lookAgainMs: 1000,
  /** Grounds of open answers that are looked at in one turn of the process. */
  looksPerTurn: 100,
  principalCache: 50_000,
  organizationCache: 1000,
  /** Deleted organizations that are remembered for requests still under way. */
  removedOrganizations: 1000,
  /** Rows of each table that go in one transaction with a deleted organization, and the pause between two rounds. */
  remnantRows: 100,
  remnantsEveryMs: 60_000,
  /** Who clears what organizations have left does so for this long, and longer while it is at it. */
  clearingLeaseMs: 30_000,
  /** Another server process over the same database sees a change at the latest after this. */
  cacheTtlMs: 30_000,
  /** Who looks at the same thing again is audited again after this; of so many looks it is known. */
  lookAgainAuditedMs: 600_000,
  looksKnown: 10_000,
  /** Denials audited per second before the rest is only counted, and the burst on top. */
  denialsPerSecond: 20,
  denialBurst: 200,
  auditPage: 1000,
  /** Users and services of whom it is told at once what they may do. */
  peopleShown: 1000,
  /** Entries wait so long for others to be sealed with, and so many at most go in one transaction. */
  sealAfterMs: 1000,
  /** What was to be written and is not there yet is looked for so often, each time after twice as long: for two minutes. */
  sealLooks: 7,
  sealedAtOnce: 500,
  /** What none of the server's keys has marked is forged, unless it is so new that another server may have a key that is not known here yet. */
  forgedAfterMs: 30_000,
  sealsPerPage: 200,
  /** One text in an audit entry. */
  auditText: 1024,
} as const;
