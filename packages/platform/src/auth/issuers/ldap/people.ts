import type { Entry } from 'ldapts';
import { PRINCIPAL_NAME } from '../../names.js';
import { groupsGiven } from '../rules.js';
import type { Issuer } from '../types.js';
import { DirectoryRefusal, LdapConnection, type Opening } from './connection.js';
import { canonicalDn } from './dn.js';
import { filterOf } from './filter.js';
import { LDAP_LIMITS, type LdapSettings, NAME_ATTRIBUTE } from './types.js';

/** What is needed of an issuer to ask its directory. */
export type Directory = Pick<Issuer, 'name' | 'source' | 'userClaim'> & { readonly ldap: LdapSettings };

/** Somebody in a directory. */
export interface Person {
  readonly dn: string;
  /** As the user is called here. */
  readonly name: string;
  /** Distinguished names of its groups there. */
  readonly found: readonly string[];
  /** Groups here that these give. */
  readonly groups: ReadonlySet<string>;
}

/** Why nobody can be who was asked for. */
export interface Unknown {
  readonly unknown: string;
  /** There is no such one, as against one that cannot be told for sure. */
  readonly gone: boolean;
}

const gone = (unknown: string): Unknown => ({ unknown, gone: true });
const unsure = (unknown: string): Unknown => ({ unknown, gone: false });

const principalName = new RegExp(PRINCIPAL_NAME);
const INVALID_CREDENTIALS = 49;
/** That it cannot answer now, as against what it says of a user (RFC 4511 §4.1.9): operations error, limits, busy, unavailable. */
const CANNOT: ReadonlySet<number> = new Set([1, 3, 4, 11, 51, 52]);

export function directoryOf(issuer: Issuer): Directory | null {
  return issuer.ldap === null ? null : { ...issuer, ldap: issuer.ldap };
}

/** People of a directory, as its issuer is allowed to see them. */
export class People {
  readonly #directory: Directory;
  readonly #connection: LdapConnection;

  private constructor(directory: Directory, connection: LdapConnection) {
    this.#directory = directory;
    this.#connection = connection;
  }

  /** @throws Error that says why it cannot be asked */
  static async ask<Answer>(
    directory: Directory,
    { password, ...how }: Opening & { readonly password: string },
    work: (people: People) => Promise<Answer>,
  ): Promise<Answer> {
    const { source: url, ldap } = directory;
    const connection = await LdapConnection.open({ url, ca: ldap.ca }, how);
    try {
      await connection.bind(ldap.bindDn, password).catch((error: unknown) => {
        if (!(error instanceof DirectoryRefusal) || error.code !== INVALID_CREDENTIALS) throw error;
        throw new Error(`it does not take the password of ${ldap.bindDn}`);
      });
      return await work(new People(directory, connection));
    } finally {
      connection.close();
    }
  }

  /** Are there the entries below which people and groups are looked for? Otherwise nobody would be found. @throws Error */
  async checkBases(): Promise<void> {
    const { userBase, groupBase } = this.#directory.ldap;
    for (const base of groupBase === null ? [userBase] : [userBase, groupBase]) {
      const about = { base, scope: 'base', filter: '(objectClass=*)', attributes: ['1.1'], most: 1 } as const;
      const there = await this.#connection.search({ ...about, paged: false }).catch((error: unknown) => {
        throw new Error(`it does not show ${base}: ${error instanceof Error ? error.message : String(error)}`);
      });
      if (there.length === 0) throw new Error(`it does not show ${base}`);
    }
  }

  /**
   * Who is meant by what was typed. They are found by their name here, too, as they are looked for later.
   * @throws Error
   */
  async find(typed: string): Promise<Person | Unknown> {
    const entry = await this.#entry(typed);
    if ('unknown' in entry) return entry;
    const { dn, name } = entry;
    if (name !== typed) {
      const same = await this.#entry(name);
      if ('unknown' in same || canonicalDn(same.dn) !== canonicalDn(dn))
        return unsure(`its name here is ${name}, by which the user filter does not find it`);
    }
    const { ldap } = this.#directory;
    const found = ldap.groupBase === null ? entry.memberOf : await this.#groups(ldap.groupBase, entry);
    return { dn, name, found, groups: groupsGiven(ldap, found, canonicalDn) };
  }

  /** The same for a user who has signed in: their entry has that name still. @throws Error */
  async still(name: string): Promise<Person | Unknown> {
    const person = await this.find(name);
    return 'unknown' in person || person.name === name ? person : gone(`${person.dn} is called ${person.name} now`);
  }

  /** Is this the password? Nothing can be asked by the service afterwards. @throws Error */
  async proves({ dn }: Person, password: string): Promise<boolean> {
    try {
      await this.#connection.bind(dn, password);
      return true;
    } catch (error) {
      // A password that has expired, an account that is locked: each directory has its own code for it.
      if (error instanceof DirectoryRefusal && !CANNOT.has(error.code)) return false;
      throw error;
    }
  }

  async #entry(user: string): Promise<{ dn: string; name: string; memberOf: readonly string[] } | Unknown> {
    const { ldap, userClaim } = this.#directory;
    const attribute = userClaim ?? NAME_ATTRIBUTE;
    const [entry, other] = await this.#connection.search({
      ...{ base: ldap.userBase, scope: 'sub', filter: filterOf(ldap.userFilter, { user }), paged: false },
      ...{ attributes: ldap.groupBase === null ? [attribute, 'memberOf'] : [attribute], most: 1 },
    });
    if (entry === undefined || entry.dn === '') return gone('there is no such user');
    if (other !== undefined) return unsure('there are several such users');
    const [name, second] = textsOf(entry, attribute);
    if (name === undefined || second !== undefined) return unsure(`${entry.dn} has not one ${attribute}`);
    if (!principalName.test(name)) return unsure(`the ${attribute} of ${entry.dn} cannot be a name here`);
    return { dn: entry.dn, name, memberOf: textsOf(entry, 'memberOf') };
  }

  async #groups(base: string, { dn, name }: { dn: string; name: string }): Promise<readonly string[]> {
    const filter = filterOf(this.#directory.ldap.groupFilter, { dn, user: name });
    const most = LDAP_LIMITS.groups;
    const about = { base, scope: 'sub', filter, attributes: ['1.1'], most, paged: true } as const;
    const groups = await this.#connection.search(about);
    if (groups.length > most) throw new Error(`${name} is in more than ${most} groups below ${base}`);
    return groups.map((group) => group.dn);
  }
}

/** Names of attributes are the same in upper and lower case. */
function textsOf(entry: Entry, attribute: string): readonly string[] {
  const key = Object.keys(entry).find((one) => one.toLowerCase() === attribute.toLowerCase());
  const value = key === undefined ? [] : entry[key];
  return [value].flat().filter((one) => typeof one === 'string');
}
