git clone --quiet /srv/orders .
