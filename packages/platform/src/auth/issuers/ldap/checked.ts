import { X509Certificate } from 'node:crypto';
import { MusterError } from '../../../errors.js';
import type { AskedIssuer } from '../types.js';
import { canonicalDn } from './dn.js';
import { whyNoTemplate } from './filter.js';
import type { LdapSettings } from './types.js';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** What can be said of the settings of a directory without asking it. @throws MusterError `invalid_field` */
export function checkLdap({ kind, source, ldap, signIn, issuer, audience, tenant }: AskedIssuer): void {
  const invalid = (field: string, reason: string) => new MusterError('invalid_field', { field, reason });
  if (kind !== 'ldap') {
    if (ldap !== null) throw invalid('directory', 'it goes with ldap');
    return;
  }
  if (ldap === null) throw invalid('directory', 'say how it is asked: bind_dn, bind_password, user_base');
  if (signIn !== null) throw invalid('sign_in', 'people sign in at a directory as directory says');
  const ofTokens = Object.entries({ issuer, audience, tenant }).find(([, value]) => value !== null);
  if (ofTokens !== undefined) throw invalid(ofTokens[0], 'a directory issues no tokens');
  const reason = whyNoUrl(source);
  if (reason !== null) throw invalid('ldap', reason);
  if (!/[=@\\]/.test(ldap.bindDn)) throw invalid('directory.bind_dn', 'must be a distinguished name');
  checkDns(ldap, (field, text) => {
    throw invalid(`directory.${field}`, `'${text}' is no distinguished name`);
  });
  const users = whyNoTemplate(ldap.userFilter, ['user']);
  if (users !== null) throw invalid('directory.user_filter', users);
  const groups = whyNoTemplate(ldap.groupFilter, ['dn', 'user']);
  if (groups !== null) throw invalid('directory.group_filter', groups);
  if (ldap.ca !== null && !areCertificates(ldap.ca)) throw invalid('directory.ca', 'must be certificates in PEM');
}

function whyNoUrl(text: string): string | null {
  if (!URL.canParse(text)) return 'must be a URL';
  const { protocol, hostname, pathname, search, username, password, hash } = new URL(text);
  if (protocol !== 'ldaps:' && protocol !== 'ldap:') return 'must be ldaps://HOST, or ldap://HOST for StartTLS';
  if (hostname === '') return 'must name a host';
  if (pathname.length > 1 || search !== '' || hash !== '' || username !== '' || password !== '')
    return 'has nothing but a host and a port: what is asked there is said in directory';
  return null;
}

function checkDns({ userBase, groupBase, groups }: LdapSettings, wrong: (field: string, text: string) => never): void {
  if (canonicalDn(userBase) === null) wrong('user_base', userBase);
  if (groupBase !== null && canonicalDn(groupBase) === null) wrong('group_base', groupBase);
  const unknown = Object.keys(groups).find((group) => canonicalDn(group) === null);
  if (unknown !== undefined) wrong('groups', unknown);
}

function areCertificates(pem: string): boolean {
  try {
    const found = pem.match(CERTIFICATE) ?? [];
    for (const one of found) new X509Certificate(one);
    return found.length > 0;
  } catch {
    return false;
  }
}
