import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Attribute, Change, Client } from 'ldapts';
import { answers, type Daemon, daemon, freePort, installed, run } from './processes.js';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './tls.js';

/** A real OpenLDAP of this machine, with a directory of its own. Its certificate is for `localhost`, by itself as authority. */
export interface Slapd {
  /** `ldaps://…` */
  readonly url: string;
  /** `ldap://…`, where it takes StartTLS. */
  readonly plainUrl: string;
  /** PEM. */
  readonly ca: string;
  readonly bindDn: string;
  readonly bindPassword: string;
  stop(): Promise<void>;
  /** With what it had. */
  start(): Promise<void>;
  /** It takes connections, and answers nothing until it is thawed. */
  freeze(): void;
  thaw(): void;
  removeUser(user: string): Promise<void>;
  /** @param called `cn`. */
  addUser(user: string, password: string, called?: string): Promise<void>;
  /** Into a group, or out of it. */
  join(group: string, user: string): Promise<void>;
  leave(group: string, user: string): Promise<void>;
  /** All people; the entry above them stays. */
  removeEverybody(): Promise<void>;
  remove(): Promise<void>;
}

export const SUFFIX = 'dc=example,dc=org';
export const PEOPLE = `ou=people,${SUFFIX}`;
export const GROUPS = `ou=groups,${SUFFIX}`;
const ROOT = `cn=root,${SUFFIX}`;
const SERVICE = `cn=muster,${SUFFIX}`;
const PASSWORD = 'service-password';

/** Of `alice` and so on. */
export const passwordOf = (user: string): string => `password of ${user}`;
const userDn = (user: string): string => `uid=${user},${PEOPLE}`;
const groupDn = (group: string): string => `cn=${group},${GROUPS}`;

function userEntry(user: string, password = passwordOf(user)): string {
  return `dn: ${userDn(user)}
objectClass: inetOrgPerson
uid: ${user}
cn: ${user}
sn: ${user}
mail: ${user}@example.org
userPassword: ${password}
`;
}

/** @param people Groups by user. Every one has the password `passwordOf`. */
export async function startSlapd(people: Readonly<Record<string, readonly string[]>>): Promise<Slapd> {
  const program = installed('/usr/sbin/slapd', 'slapd');
  const directory = await mkdtemp(join(tmpdir(), 'muster-slapd-'));
  const [secure, plain] = [await freePort(), await freePort()];
  const at = (name: string): string => join(directory, name);
  await mkdir(at('db'));
  await writeFile(at('cert.pem'), TEST_CERTIFICATE);
  await writeFile(at('key.pem'), TEST_CERTIFICATE_KEY, { mode: 0o600 });
  const modules = ['/usr/lib/ldap', '/usr/lib/openldap'].find((path) => existsSync(path)) ?? '/usr/lib/ldap';
  await writeFile(
    at('slapd.conf'),
    `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath ${modules}
moduleload back_mdb
moduleload memberof
pidfile ${at('slapd.pid')}
TLSCertificateFile ${at('cert.pem')}
TLSCertificateKeyFile ${at('key.pem')}
TLSVerifyClient never
# What is not asked for in pages ends here.
sizelimit size.soft=500 size.hard=500 size.prtotal=unlimited
security simple_bind=128
database mdb
suffix ${SUFFIX}
rootdn ${ROOT}
rootpw ${PASSWORD}
directory ${at('db')}
maxsize 268435456
index objectClass,uid,member,mail eq
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${SERVICE}" read by * none
`,
  );
  const groups = new Map<string, string[]>();
  for (const [user, held] of Object.entries(people)) {
    for (const group of held) groups.set(group, [...(groups.get(group) ?? []), user]);
  }
  const entries = [
    `dn: ${SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n`,
    ...[PEOPLE, GROUPS].map((dn) => `dn: ${dn}\nobjectClass: organizationalUnit\n`),
    `dn: ${SERVICE}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: muster\nuserPassword: ${PASSWORD}\n`,
    ...Object.keys(people).map((user) => userEntry(user)),
    ...[...groups].map(
      ([group, users]) =>
        `dn: ${groupDn(group)}\nobjectClass: groupOfNames\ncn: ${group}\n${users.map((user) => `member: ${userDn(user)}\n`).join('')}`,
    ),
  ];
  await writeFile(at('all.ldif'), entries.join('\n'));
  await run('/usr/sbin/slapadd', ['-q', '-f', at('slapd.conf'), '-l', at('all.ldif')]);
  let server: Daemon | null = null;
  const start = async (): Promise<void> => {
    const listening = ['-h', `ldaps://127.0.0.1:${secure} ldap://127.0.0.1:${plain}`, '-d', '0'];
    server = await daemon(program, ['-f', at('slapd.conf'), ...listening], async () => {
      return (await answers(secure)) && (await answers(plain));
    });
  };
  const stop = async (): Promise<void> => {
    await server?.stop();
    server = null;
  };
  const signal = (name: NodeJS.Signals): void => {
    if (server !== null) process.kill(server.pid, name);
  };
  await start();
  const url = `ldaps://localhost:${secure}`;
  const asRoot = async (work: (client: Client) => Promise<void>): Promise<void> => {
    const client = new Client({ url, tlsOptions: { ca: TEST_CERTIFICATE } });
    try {
      await client.bind(ROOT, PASSWORD);
      await work(client);
    } finally {
      await client.unbind();
    }
  };
  const member = (operation: 'add' | 'delete', group: string, user: string) =>
    asRoot((client) =>
      client.modify(
        groupDn(group),
        new Change({ operation, modification: new Attribute({ type: 'member', values: [userDn(user)] }) }),
      ),
    );
  return {
    ...{ url, plainUrl: `ldap://localhost:${plain}`, ca: TEST_CERTIFICATE },
    ...{ bindDn: SERVICE, bindPassword: PASSWORD, start, stop },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    addUser: (user, password, called = user) =>
      asRoot((client) =>
        client.add(userDn(user), {
          ...{ objectClass: ['inetOrgPerson'], uid: user, cn: called, sn: user, userPassword: password },
        }),
      ),
    removeUser: (user) => asRoot((client) => client.del(userDn(user))),
    join: (group, user) => member('add', group, user),
    leave: (group, user) => member('delete', group, user),
    removeEverybody: () =>
      asRoot(async (client) => {
        const { searchEntries } = await client.search(PEOPLE, { filter: '(uid=*)', attributes: ['1.1'] });
        for (const { dn } of searchEntries) await client.del(dn);
      }),
    async remove() {
      await stop();
      await rm(directory, { recursive: true });
    },
  };
}
