# Net::Stomp as a process: orders come as lines of JSON on standard input, what happens goes as such to standard output.
use strict;
use warnings;
use IO::Select;
use JSON::PP;
use Net::Stomp;

$| = 1;
my $json = JSON::PP->new->canonical->utf8;
my $stomp;
my @subscriptions;

sub tell_of { print $json->encode({ event => @_ }), "\n" }

sub told {
    my ($frame) = @_;
    my ($command, $headers) = ($frame->command, $frame->headers);
    return tell_of('connected', headers => $headers) if $command eq 'CONNECTED';
    return tell_of('message', headers => $headers, body => $frame->body) if $command eq 'MESSAGE';
    return tell_of('receipt', id => $headers->{'receipt-id'}) if $command eq 'RECEIPT';
    return tell_of('error', headers => $headers);
}

sub transaction {
    my ($command, $order) = @_;
    $stomp->send_frame(
        Net::Stomp::Frame->new({ command => $command, headers => { transaction => $order->{transaction} } }));
}

# 1.1, as Net::Stomp escapes nothing and acknowledges by message-id.
my %obey = (
    connect => sub {
        my ($order) = @_;
        $stomp = Net::Stomp->new({ hostname => '127.0.0.1', port => $order->{port}, connect_delay => 1 });
        # It sends no heart-beats, but may ask for them.
        my $frame = $stomp->connect({
            login => $order->{login}, passcode => $order->{passcode}, host => 'localhost',
            'accept-version' => '1.0,1.1', 'heart-beat' => "0,$order->{heartBeatMs}",
        });
        told($frame);
    },
    subscribe => sub {
        my ($order) = @_;
        my %headers = map { $_->[0] => $_->[1] } @{ $order->{headers} };
        $stomp->subscribe({ destination => '/topic/events', id => $order->{id}, ack => $order->{ack}, %headers });
    },
    send => sub {
        my ($order) = @_;
        my %headers = map { $_->[0] => $_->[1] } @{ $order->{headers} };
        $stomp->send({ destination => '/topic/events', %headers, body => $order->{body}, bytes_message => 1 });
    },
    ack => sub { acknowledge('ack', @_) },
    nack => sub { acknowledge('nack', @_) },
    begin => sub { transaction('BEGIN', @_) },
    commit => sub { transaction('COMMIT', @_) },
    abort => sub { transaction('ABORT', @_) },
    disconnect => sub { $stomp->disconnect; tell_of('disconnected'); exit 0 },
);

sub acknowledge {
    my ($how, $order) = @_;
    my $message = $order->{message};
    my $frame = Net::Stomp::Frame->new({ command => 'MESSAGE', headers => $message });
    $stomp->$how({ frame => $frame, subscription => $message->{subscription} });
}

my $orders = '';
while (1) {
    my $select = IO::Select->new(\*STDIN);
    $select->add($stomp->socket) if $stomp && $stomp->socket && $stomp->socket->opened;
    for my $ready ($select->can_read(0.1)) {
        next unless $ready == \*STDIN;
        exit 0 unless sysread STDIN, $orders, 65_536, length $orders;
        while ($orders =~ s/^([^\n]*)\n//) {
            my $order = $json->decode($1);
            $obey{ $order->{order} }->($order);
        }
    }
    next unless $stomp;
    # Connects and subscribes again by itself when the connection is lost.
    my $connected = $stomp->_connected;
    while (my $frame = $stomp->receive_frame({ timeout => 0 })) { told($frame) }
    tell_of('disconnected') if $connected && !$stomp->_connected;
    tell_of('connected', headers => {}) if !$connected && $stomp->_connected;
}
