import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What is in the executable besides modules that the bundle lists: native modules, files of a page, and what the console is built of. */
const BESIDES = [
  'zeromq',
  'better-sqlite3',
  'sodium-native',
  '@fastify/swagger-ui',
  'preact',
  '@preact/signals',
  '@preact/signals-core',
];

/**
 * The packages of others that modules come from.
 *
 * @param {string} root of the project
 * @param {readonly string[]} modules files
 */
export function componentsOf(root, modules) {
  const found = new Set(BESIDES.map((name) => join(root, 'node_modules', name)));
  for (const id of modules) {
    const [, directory] = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
    if (directory !== undefined) found.add(directory);
  }
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return [...found]
    .map((directory) => {
      const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
      const { integrity } = locked[directory.slice(root.length + 1)] ?? {};
      return {
        name,
        version,
        licence: typeof license === 'string' ? license : 'unknown',
        integrity,
        texts: licenceTexts(directory),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version < b.version ? -1 : 1));
}

function licenceTexts(directory) {
  const names = readdirSync(directory).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  return names.sort().map((name) => readFileSync(join(directory, name), 'utf8').trim());
}

/** Where distributions of Node.js have its licence. */
export function licenceOfNode(node) {
  const places = [
    join(dirname(node), '../LICENSE'),
    '/usr/share/doc/nodejs/LICENSE',
    '/usr/share/doc/nodejs/copyright',
  ];
  const place = places.find((path) => existsSync(path));
  return place === undefined
    ? 'MIT; its text, with those of what it contains, comes with Node.js.'
    : readFileSync(place, 'utf8').trim();
}

/** All licences in one text. */
export function licences(components, node) {
  const parts = components.map(({ name, version, licence, texts }) => {
    return [`${name} ${version} (${licence})`, ...texts].join('\n\n');
  });
  return [`Node.js ${node.version}\n\n${node.licence}`, ...parts].join(`\n\n${'-'.repeat(80)}\n\n`).concat('\n');
}

/** CycloneDX 1.5: what the executable is made of, and from which commit. */
export function billOfMaterials(components, { version, node, epoch, commit }) {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: { type: 'application', name: 'muster', version, licenses: [{ license: { id: 'Apache-2.0' } }] },
      properties: [{ name: 'muster:commit', value: commit }],
    },
    components: [
      { type: 'application', name: 'node', version: node.version, purl: `pkg:generic/node@${node.version}` },
      ...components.map(({ name, version: its, licence, integrity }) => ({
        type: 'library',
        name,
        version: its,
        purl: `pkg:npm/${name.replace('@', '%40')}@${its}`,
        licenses: [/^[A-Za-z0-9.+-]+$/.test(licence) ? { license: { id: licence } } : { expression: licence }],
        ...(integrity?.startsWith('sha512-') && {
          hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice(7), 'base64').toString('hex') }],
        }),
      })),
    ],
  };
}
