"""
OpenStack Swift on one machine: its account, container, object and proxy servers in one process, with the protocol of S3 in front of them.

Arguments: the folder of all that it stores, the port of the proxy server (0: any), the user (account:name) and its key.
It prints the port of the proxy server when all of them listen.
"""
import os
import sys

from eventlet import listen, spawn, wsgi
from swift.account.server import AccountController
from swift.common import utils
from swift.common.http_protocol import SwiftHttpProtocol
from swift.common.ring import RingBuilder
from swift.common.utils import NullLogger
from swift.common.wsgi import loadapp
from swift.container.server import ContainerController
from swift.obj.server import ObjectController

PROXY = """
[DEFAULT]
swift_dir = {folder}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
# The authentication insists on a cache, and does without one that cannot be reached.
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
allow_multipart_uploads = false
[filter:tempauth]
use = egg:swift#tempauth
user_{user} = {key} .admin
"""


def serve(socket, app):
    return spawn(wsgi.server, socket, app, NullLogger(), protocol=SwiftHttpProtocol, capitalize_response_headers=False)


def save_ring(folder, name, port):
    """The other servers find one by its ring: here there is one of each, with one device."""
    builder = RingBuilder(part_power=1, replicas=1, min_part_hours=0)
    builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'weight': 1, 'ip': '127.0.0.1', 'port': port, 'device': 'device'})
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, name + '.ring.gz'))


def main(folder, port, user, key):
    utils.eventlet_monkey_patch()
    # Otherwise it is read from /etc/swift.
    utils.HASH_PATH_SUFFIX = b'of the tests'
    os.makedirs(os.path.join(folder, 'devices', 'device'), exist_ok=True)
    config = {'swift_dir': folder, 'devices': os.path.join(folder, 'devices'), 'mount_check': 'false'}
    for name, controller in (('account', AccountController), ('container', ContainerController), ('object', ObjectController)):
        socket = listen(('127.0.0.1', 0))
        save_ring(folder, name, socket.getsockname()[1])
        serve(socket, controller(config))
    path = os.path.join(folder, 'proxy.conf')
    with open(path, 'w') as file:
        file.write(PROXY.format(folder=folder, user=user.replace(':', '_'), key=key))
    socket = listen(('127.0.0.1', int(port)))
    served = serve(socket, loadapp(path))
    print(socket.getsockname()[1], flush=True)
    served.wait()


main(*sys.argv[1:])
