import { fileURLToPath } from 'node:url';
import { ProcessPeer } from './support/peers/peer.js';
import { describePeer } from './support/peers/suite.js';
import { MARKER, StartedProcess } from './support/started-process.js';

// Needs Debian's libnet-stomp-perl; where it is missing, `npm test` leaves this file out and says so.
const PROGRAM = fileURLToPath(new URL('./support/peers/net-stomp.pl', import.meta.url));

describePeer(
  'Net::Stomp',
  ({ cluster }) => {
    const env = { PATH: process.env.PATH, [MARKER]: cluster.marker };
    return new ProcessPeer(new StartedProcess('Net::Stomp', '/usr/bin/perl', [PROGRAM], { cwd: cluster.dir, env }));
  },
  { escapes: false, noticesSilence: false },
);
