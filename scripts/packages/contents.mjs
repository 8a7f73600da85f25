/** What is in which package, and what its installation does: the same for deb and rpm. */

export const MAINTAINER = 'The Muster authors';

/**
 * @typedef {object} Package
 * @property {string} name
 * @property {boolean} binary it has the executable, and so an architecture
 * @property {string} summary one line
 * @property {string} description
 * @property {string[]} units systemd units of `deploy/systemd`
 * @property {string[]} settings files of `deploy/packages`, for `/etc/muster`
 * @property {{ name: string, home: string } | null} user whom its services run as, and who alone reads its settings besides root
 * @property {string[]} state what a purge removes, besides the settings
 * @property {{ deb: string[], rpm: string[] }} needs
 */

/** @type {readonly Package[]} */
export const PACKAGES = [
  {
    name: 'muster',
    binary: true,
    summary: 'runs work on fleets of machines: the command line',
    description:
      'One executable with all of Muster in it: command line, server, agent and relay. Services are in packages of their own.',
    units: [],
    settings: [],
    user: null,
    state: [],
    needs: {
      deb: ['libc6 (>= 2.28)', 'libstdc++6 (>= 8)', 'libgcc-s1 | libgcc1'],
      rpm: ['glibc >= 2.28', 'libstdc++ >= 8', 'libgcc'],
    },
  },
  {
    name: 'muster-agent',
    binary: false,
    summary: 'runs work on fleets of machines: the agent of a managed machine',
    description: 'Runs, on this machine, the commands that its owner allows, when a Muster server asks for them.',
    units: ['muster-agent.service'],
    settings: ['agent.yaml'],
    user: null,
    state: ['/var/lib/muster-agent', '/etc/muster/agent.token'],
    needs: { deb: ['util-linux'], rpm: ['util-linux'] },
  },
  {
    name: 'muster-server',
    binary: false,
    summary: 'runs work on fleets of machines: the server',
    description:
      'Takes work and gives it to agents: API, console, push jobs, queues, jobs, events; and workers of job queues.',
    units: ['muster-server.service', 'muster-worker@.service'],
    settings: ['server.yaml', 'worker.yaml'],
    user: { name: 'muster', home: '/var/lib/muster' },
    state: ['/var/lib/muster'],
    needs: { deb: ['passwd'], rpm: ['shadow-utils'] },
  },
  {
    name: 'muster-relay',
    binary: false,
    summary: 'runs work on fleets of machines: a relay of events',
    description: 'Stands between a Muster server and many clients of its events, in a tree of any depth.',
    units: ['muster-relay.service'],
    settings: ['relay.env'],
    user: { name: 'muster-relay', home: '/run/muster-relay' },
    state: ['/etc/muster/relay.token'],
    needs: { deb: ['passwd'], rpm: ['shadow-utils'] },
  },
];

const SYSTEMD_RUNS = '[ -d /run/systemd/system ]';

/**
 * After its files are there. A service is not started before its settings were written. One that runs is replaced by the new version
 * at once: its unit says what goes on meanwhile.
 *
 * @param {Package} one
 * @param {string} upgrade a test of the shell: this is not the first installation
 */
export function configured({ user, settings, units }, upgrade) {
  return [
    ...(user === null
      ? []
      : [
          `if ! getent passwd ${user.name} > /dev/null; then`,
          `  useradd --system --home-dir ${user.home} --no-create-home --shell /usr/sbin/nologin ${user.name}`,
          'fi',
          ...settings.flatMap((name) => [
            `chown root:${user.name} /etc/muster/${name}`,
            `chmod 0640 /etc/muster/${name}`,
          ]),
        ]),
    ...(units.length === 0
      ? []
      : [
          `if ${SYSTEMD_RUNS}; then`,
          '  systemctl daemon-reload',
          `  if ${upgrade}; then systemctl try-restart ${units.map(instances).join(' ')}; fi`,
          'fi',
        ]),
  ];
}

/** Before its files go for good. */
export function stopped({ units }) {
  if (units.length === 0) return [];
  return [
    `if ${SYSTEMD_RUNS}; then`,
    `  systemctl stop ${units.map(instances).join(' ')}`,
    `  systemctl disable ${units.join(' ')}`,
    'fi',
  ];
}

/** After that. */
export function forgotten({ units }) {
  return units.length === 0 ? [] : [`if ${SYSTEMD_RUNS}; then systemctl daemon-reload; fi`];
}

function instances(unit) {
  return `'${unit.replace('@.', '@*.')}'`;
}

/** What a unit says in a package: there the executable is elsewhere. */
export function packagedUnit(text) {
  return text
    .replaceAll('/usr/local/bin/muster', '/usr/bin/muster')
    .replace(/^# The checkout, and Node\.js, must be outside of \/home for it\.( .*)?\n/m, (_, rest) =>
      rest ? `#${rest}\n` : '',
    );
}
